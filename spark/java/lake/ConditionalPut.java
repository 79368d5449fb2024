package lake;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.S3AFileSystem;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.NoSuchKeyException;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.S3Exception;

/** Writes an object, unless there is one of its name: the store itself refuses the second. */
final class ConditionalPut {
  private static final int IS_THERE = 412;
  private static final int IS_BEING_WRITTEN = 409;
  private static final int TRIES = 10;

  private ConditionalPut() {}

  static void put(Path path, byte[] content, Configuration settings) throws IOException {
    S3AFileSystem files = (S3AFileSystem) path.getFileSystem(settings);
    S3Client client = files.getS3AInternals().getAmazonS3Client("write once");
    String key = path.toUri().getPath().substring(1);
    try {
      for (int tries = 0; tries < TRIES; tries++) {
        if (isWritten(client, files.getBucket(), key, content)) {
          return;
        }
        byte[] found = read(client, files.getBucket(), key);
        if (Arrays.equals(content, found)) {
          return; // it is ours: the answer to an earlier try was lost
        }
        if (found != null) {
          throw new FileAlreadyExistsException(path.toString());
        }
      }
    } catch (SdkException error) {
      throw new IOException(path + " could not be written: " + error.getMessage(), error);
    }
    throw new IOException(path + " could not be written: others write it, and it is never there");
  }

  private static boolean isWritten(S3Client client, String bucket, String key, byte[] content) {
    PutObjectRequest request =
        PutObjectRequest.builder()
            .bucket(bucket)
            .key(key)
            .overrideConfiguration(headers -> headers.putHeader("If-None-Match", "*"))
            .build();
    try {
      client.putObject(request, RequestBody.fromBytes(content));
      return true;
    } catch (S3Exception refused) {
      int status = refused.statusCode();
      if (status == IS_THERE || status == IS_BEING_WRITTEN) {
        return false;
      }
      throw refused;
    }
  }

  /** Return what an object holds; null if there is none. */
  private static byte[] read(S3Client client, String bucket, String key) {
    try {
      return client.getObjectAsBytes(wanted -> wanted.bucket(bucket).key(key)).asByteArray();
    } catch (NoSuchKeyException missing) {
      return null;
    }
  }
}
