package lake;

import java.io.IOException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * The leases that this process holds. spark/lease.py takes them; each commit asks here whether they
 * are still there.
 *
 * <p>A process that stood still for longer than its lease does not know that another has taken it
 * over. It learns so when it wakes and commits. Between the question and the commit it may stand
 * still again: whoever takes over therefore commits first of all, so that this commit's number is
 * taken, and the question is asked once more for the next number.
 */
public final class Lease {
  private static final Set<Path> HELD = ConcurrentHashMap.newKeySet();

  private Lease() {}

  public static void hold(String address) {
    HELD.add(new Path(address));
  }

  public static void release(String address) {
    HELD.remove(new Path(address));
  }

  /** Refuse to go on if another has taken over one of the leases; it has deleted the file then. */
  public static void check(Configuration settings) throws IOException {
    for (Path lease : HELD) {
      if (!lease.getFileSystem(settings).exists(lease)) {
        throw new IOException(
            "the lease " + lease + " is lost: this process stood still for too long, and another"
                + " has taken over");
      }
    }
  }
}
