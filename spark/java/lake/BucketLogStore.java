package lake;

import io.delta.storage.S3SingleDriverLogStore;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * Delta's log in a bucket. Of two commits with one number the second is refused, by the store
 * itself. Delta's own store for S3 looks first and writes then: of two drivers' commits one is lost,
 * without an error.
 */
public final class BucketLogStore extends S3SingleDriverLogStore {
  public BucketLogStore(Configuration settings) {
    super(settings);
  }

  @Override
  public void write(Path path, Iterator<String> lines, Boolean overwrite, Configuration settings)
      throws IOException {
    Lease.check(settings);
    if (overwrite) {
      super.write(path, lines, true, settings);
      return;
    }
    byte[] content = FolderLogStore.text(lines).getBytes(StandardCharsets.UTF_8);
    ConditionalPut.put(resolvePathOnPhysicalStorage(path, settings), content, settings);
  }
}
