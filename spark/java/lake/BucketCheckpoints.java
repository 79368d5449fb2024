package lake;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.CheckpointFileManager.CancellableFSDataOutputStream;
import org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager;

/**
 * The checkpoint of a query in a bucket: its small files are written whole, and once. Spark's own
 * way is to rename, which a bucket does by copying; of two queries the later would win.
 */
public final class BucketCheckpoints extends FileSystemBasedCheckpointFileManager {
  private final Configuration settings;

  public BucketCheckpoints(Path folder, Configuration settings) {
    super(folder, settings);
    this.settings = settings;
  }

  @Override
  public CancellableFSDataOutputStream createAtomic(Path path, boolean overwrite) {
    return overwrite ? super.createAtomic(path, true) : new Once(path, new ByteArrayOutputStream());
  }

  private final class Once extends CancellableFSDataOutputStream {
    private final Path path;
    private final ByteArrayOutputStream content;
    private boolean isOver = false;

    Once(Path path, ByteArrayOutputStream content) {
      super(content);
      this.path = path;
      this.content = content;
    }

    @Override
    public void close() throws IOException {
      if (isOver) {
        return;
      }
      isOver = true;
      Lease.check(settings);
      try {
        ConditionalPut.put(path, content.toByteArray(), settings);
      } catch (FileAlreadyExistsException taken) {
        // The name that Spark knows it by: it then says that two queries use one checkpoint.
        throw new org.apache.hadoop.fs.FileAlreadyExistsException(path.toString());
      }
    }

    @Override
    public void cancel() {
      isOver = true;
      try {
        super.close();
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }
  }
}
