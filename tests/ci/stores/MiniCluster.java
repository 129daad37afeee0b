import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.SafeModeAction;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * HDFS on loopback: a namenode and datanodes, with a folder /runs where everybody may write.
 *
 * Arguments: a folder for its files, and the number of datanodes. It prints the ports of the namenode's web server and
 * of its RPC, then obeys lines of its input, each of which it answers with a line: stop N (a datanode), safe, unsafe
 * (the mode of the namenode). It ends with its input.
 */
public class MiniCluster {
  public static void main(String[] words) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err); // where Hadoop logs
    Configuration conf = new Configuration();
    conf.set("hadoop.tmp.dir", words[0]);
    MiniDFSCluster.Builder builder = new MiniDFSCluster.Builder(conf, new File(words[0]));
    MiniDFSCluster cluster = builder.numDataNodes(Integer.parseInt(words[1])).build();
    try {
      Path runs = new Path("/runs");
      cluster.getFileSystem().mkdirs(runs);
      cluster.getFileSystem().setPermission(runs, new FsPermission((short) 0777));
      answers.println(cluster.getNameNode().getHttpAddress().getPort() + " " + cluster.getNameNodePort());
      BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        obey(cluster, line.split(" "));
        answers.println(line);
      }
    } finally {
      cluster.shutdown(true);
    }
  }

  private static void obey(MiniDFSCluster cluster, String[] words) throws Exception {
    switch (words[0]) {
      case "stop" -> cluster.stopDataNode(Integer.parseInt(words[1]));
      case "safe" -> cluster.getFileSystem().setSafeMode(SafeModeAction.ENTER);
      case "unsafe" -> cluster.getFileSystem().setSafeMode(SafeModeAction.LEAVE);
      default -> throw new IllegalArgumentException(words[0]);
    }
  }
}
