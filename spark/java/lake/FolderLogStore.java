package lake;

import io.delta.storage.HadoopFileSystemLogStore;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.util.Iterator;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * Delta's log in a folder. Of two commits with one number the second is refused, by the file system
 * itself: a link to a name that is taken cannot be made. Delta's own store looks first and renames
 * then, and two drivers may both find the name free.
 */
public final class FolderLogStore extends HadoopFileSystemLogStore {
  public FolderLogStore(Configuration settings) {
    super(settings);
  }

  @Override
  public void write(Path path, Iterator<String> lines, Boolean overwrite, Configuration settings)
      throws IOException {
    Lease.check(settings);
    if (overwrite) {
      writeWithRename(path, lines, true, settings);
      return;
    }
    java.nio.file.Path file = java.nio.file.Path.of(path.toUri().getPath());
    java.nio.file.Path written = file.resolveSibling("." + file.getFileName() + "." + UUID.randomUUID());
    Files.createDirectories(file.getParent());
    try {
      Files.writeString(written, text(lines), StandardCharsets.UTF_8);
      Files.createLink(file, written);
    } catch (UnsupportedOperationException noLinks) {
      throw new IOException("no link can be made in " + file.getParent() + ": a lake needs a file"
          + " system that has hard links, or a bucket", noLinks);
    } finally {
      Files.deleteIfExists(written);
    }
  }

  /** Return lines as the text of a file. */
  static String text(Iterator<String> lines) {
    StringBuilder text = new StringBuilder();
    lines.forEachRemaining(line -> text.append(line).append('\n'));
    return text.toString();
  }

  @Override
  public Boolean isPartialWriteVisible(Path path, Configuration settings) {
    return false;
  }
}
