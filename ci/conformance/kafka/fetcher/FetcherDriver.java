package kafka.server;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.server.network.BrokerEndPoint;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Asks the fetcher of a follower whether it appends the reply to a fetch, and prints one line for each case.
 *
 * The leader is a stub. While its reply is under way, the partition is handed to the fetcher again, as a new leader
 * epoch does it, with the epoch and the offset of the case. Arguments: none.
 */
public final class FetcherDriver {
    static final TopicPartition PARTITION = new TopicPartition("foo", 0);
    static final Uuid TOPIC = new Uuid(1, 1);
    static final BrokerEndPoint LEADER = new BrokerEndPoint(1, "leader", 9092);
    static final int EPOCH = 5;
    static final long END = 10;

    private FetcherDriver() { }

    public static void main(String[] args) throws Exception {
        show("same-epoch", EPOCH, END);
        show("later-epoch", EPOCH + 1, END);
        show("later-epoch-other-offset", EPOCH + 1, END - 3);
    }

    private static void show(String name, int epochThen, long offsetThen) throws Exception {
        Stub leader = new Stub();
        FetcherRelease fetcher = new FetcherRelease(leader);
        leader.beforeReply = () -> hand(fetcher, epochThen, offsetThen);
        hand(fetcher, EPOCH, END);
        Map<TopicPartition, FetchRequest.PartitionData> asked = new HashMap<>();
        asked.put(PARTITION, new FetchRequest.PartitionData(TOPIC, END, 0, 1 << 20, Optional.of(EPOCH)));
        process().invoke(fetcher, asked, FetchRequest.Builder.forReplica(
            ApiKeys.FETCH.latestVersion(), 2, 1, 100, 1, asked));
        System.out.println(name + " " + fetcher.appended);
    }

    /** The method that puts a fetch to the leader and handles the reply; 4.0.0 keeps it private. */
    private static Method process() throws NoSuchMethodException {
        for (Method method : AbstractFetcherThread.class.getDeclaredMethods()) {
            if (method.getName().endsWith("processFetchRequest")) {
                method.setAccessible(true);
                return method;
            }
        }
        throw new NoSuchMethodException("processFetchRequest");
    }

    private static void hand(FetcherRelease fetcher, int epoch, long offset) {
        fetcher.end = offset;
        Map<TopicPartition, InitialFetchState> states = new HashMap<>();
        states.put(PARTITION, new InitialFetchState(Option.apply(TOPIC), LEADER, epoch, offset));
        fetcher.addPartitions(CollectionConverters.asScala(states));
    }

    /** A leader that replies to the one partition; its interface moved between releases. */
    static final class Stub implements InvocationHandler {
        Runnable beforeReply;

        @SuppressWarnings("unchecked")
        <T> T as(Class<T> type) {
            return (T) Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, this);
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] given) {
            switch (method.getName()) {
                case "isTruncationOnFetchSupported": return true;
                case "brokerEndPoint": return LEADER;
                case "fetch":
                    beforeReply.run();
                    Map<TopicPartition, FetchResponseData.PartitionData> reply = new HashMap<>();
                    reply.put(PARTITION, new FetchResponseData.PartitionData().setPartitionIndex(0).setHighWatermark(END));
                    return method.getReturnType() == Map.class ? reply : CollectionConverters.asScala(reply);
                default: throw new UnsupportedOperationException(method.getName());
            }
        }
    }
}
