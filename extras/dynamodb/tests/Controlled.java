import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBRequestHandler;
import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBServerHandler;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** DynamoDB Local in memory, on this machine alone, and with its test control, for which it has no option: shards roll over, and time passes, when a test says so. */
public class Controlled {
    public static void main(String[] arguments) throws Exception {
        var constructor = LocalDynamoDBRequestHandler.class.getDeclaredConstructor(
            int.class, boolean.class, String.class, boolean.class, boolean.class, boolean.class);
        constructor.setAccessible(true);
        var requests = constructor.newInstance(0, true, null, true, false, true);
        var port = Integer.parseInt(arguments[0]);
        var local = new DynamoDBProxyServer(port, new LocalDynamoDBServerHandler(requests, null));
        var server = DynamoDBProxyServer.class.getDeclaredField("server");
        server.setAccessible(true);
        for (Connector connector : ((Server) server.get(local)).getConnectors()) {
            ((ServerConnector) connector).setHost("127.0.0.1");
        }
        local.start();
        local.join();
    }
}
