import com.amazonaws.services.dynamodbv2.local.main.ServerRunner;
import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** DynamoDB Local for this machine alone, or for -Dhost: by itself it listens on every address, and has no option for that. */
public class Local {
    public static void main(String[] arguments) throws Exception {
        DynamoDBProxyServer local = ServerRunner.createServerFromCommandLineArgs(arguments);
        var host = System.getProperty("host", "127.0.0.1");
        var server = DynamoDBProxyServer.class.getDeclaredField("server");
        server.setAccessible(true);
        for (Connector connector : ((Server) server.get(local)).getConnectors()) {
            ((ServerConnector) connector).setHost(host);
        }
        local.start();
        local.join();
    }
}
