package org.apache.kafka.server;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import kafka.cluster.Partition;
import kafka.server.FailedPartitions;
import kafka.server.InitialFetchState;
import kafka.server.ReplicaAlterLogDirsThread;
import kafka.server.ReplicaManager;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.common.DirectoryEventHandler;
import org.apache.kafka.server.common.TopicIdPartition;
import org.apache.kafka.server.network.BrokerEndPoint;
import org.apache.kafka.storage.internals.log.LogManager;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Function1;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/** A replica that moves between two directories of a broker: `ReplicaAlterLogDirsThread`. */
final class Moves {
    static final Uuid TOPIC = new Uuid(1, 1);
    static final TopicPartition PARTITION = new TopicPartition("foo", 0);
    static final Uuid SOURCE = new Uuid(7, 1);
    static final Uuid TARGET = new Uuid(7, 2);
    static final BrokerEndPoint SELF = new BrokerEndPoint(1, "localhost", 9092);

    private final Handler handler = new Handler();
    private final Replica replica = unbuilt(Replica.class);
    private final ReplicaAlterLogDirsThread thread;

    private Moves() throws Exception {
        Manager manager = unbuilt(Manager.class);
        manager.replica = replica;
        thread = copier(manager, handler);
    }

    /** A copier whose leader is this broker; nothing is fetched. */
    static ReplicaAlterLogDirsThread copier(ReplicaManager manager, DirectoryEventHandler handler) {
        LeaderEndPoint leader = (LeaderEndPoint) Proxy.newProxyInstance(LeaderEndPoint.class.getClassLoader(),
            new Class<?>[] {LeaderEndPoint.class}, (proxy, method, given) -> switch (method.getName()) {
                case "isTruncationOnFetchSupported" -> (Object) false;
                case "brokerEndPoint" -> SELF;
                default -> throw new UnsupportedOperationException(method.getName());
            });
        return new ReplicaAlterLogDirsThread("mover", leader, new FailedPartitions(), manager, null,
            new BrokerTopicStats(), 1000, handler);
    }

    static void run() throws Exception {
        targetFails();
        metadataThenTargetFails();
        metadataBeforeGrant();
    }

    /** The case that shows that a granted move is taken back: the target fails, and the copier ends. */
    private static void targetFails() throws Exception {
        Moves move = granted();
        move.end();
        BrokerDriver.show("failed-target-is-taken-back", move.handler.assigned.equals(List.of(TARGET, SOURCE)));
    }

    /** As above, but metadata of a later leader epoch comes in between. */
    private static void metadataThenTargetFails() throws Exception {
        Moves move = granted();
        move.hand(6);
        move.end();
        BrokerDriver.show("metadata-forgets-granted-move", move.handler.assigned.equals(List.of(TARGET)));
    }

    /** Metadata comes while the assignment is under way; the move hears of its success after that. */
    private static void metadataBeforeGrant() throws Exception {
        Moves move = new Moves();
        move.hand(5);
        move.copy();
        move.hand(5);
        move.handler.callbacks.get(0).run();
        move.copy();
        BrokerDriver.require(move.handler.assigned.equals(List.of(TARGET)), "the move asks once");
        BrokerDriver.show("grant-outlives-metadata", move.replica.swapped);
    }

    /** A move whose assignment the controller has granted, and whose logs are not swapped. */
    private static Moves granted() throws Exception {
        Moves move = new Moves();
        move.hand(5);
        move.copy();
        BrokerDriver.require(move.handler.assigned.equals(List.of(TARGET)), "the move asks for its target");
        move.handler.callbacks.get(0).run();
        return move;
    }

    /** Hand the partition to the copier, as any new metadata of it does. */
    private void hand(int epoch) {
        Map<TopicPartition, InitialFetchState> states = new HashMap<>();
        states.put(PARTITION, new InitialFetchState(Option.apply(TOPIC), SELF, epoch, 0));
        thread.addPartitions(CollectionConverters.asScala(states));
    }

    /** What follows a fetch by which the future log has caught up. */
    private void copy() throws Exception {
        Method step = ReplicaAlterLogDirsThread.class.getDeclaredMethod(
            "maybePromoteFutureReplica", TopicPartition.class, Partition.class);
        step.setAccessible(true);
        step.invoke(thread, PARTITION, replica);
    }

    private void end() {
        thread.removePartitions(CollectionConverters.asScala(Set.of(PARTITION)));
    }

    /** An object whose constructor has not run: the class needs a whole broker. */
    static <T> T unbuilt(Class<T> type) throws Exception {
        Constructor<?> plain = Object.class.getDeclaredConstructor();
        return type.cast(sun.reflect.ReflectionFactory.getReflectionFactory()
            .newConstructorForSerialization(type, plain).newInstance());
    }

    /** What the broker wants assigned, in order. */
    static final class Handler implements DirectoryEventHandler {
        final List<Uuid> assigned = new ArrayList<>();
        final List<Runnable> callbacks = new ArrayList<>();

        @Override
        public void handleAssignment(TopicIdPartition partition, Uuid directory, String reason, Runnable callback) {
            assigned.add(directory);
            callbacks.add(callback);
        }

        @Override
        public void handleFailure(Uuid directory) {
            throw new UnsupportedOperationException("handleFailure");
        }

        @Override
        public void handleCordoned(Set<Uuid> directories) {
            throw new UnsupportedOperationException("handleCordoned");
        }
    }

    /** A manager that has the one replica, and of the rest what a case gives it. */
    static final class Manager extends ReplicaManager {
        Partition replica;
        LogManager logs;
        DirectoryEventHandler handler;

        Manager() {
            super(null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
                null, null, null, null);
        }

        @Override
        public boolean futureLogExists(TopicPartition partition) {
            return true;
        }

        @Override
        public Partition getPartitionOrException(TopicPartition partition) {
            return replica;
        }

        @Override
        public LogManager logManager() {
            return logs;
        }

        @Override
        public DirectoryEventHandler directoryEventHandler() {
            return handler;
        }
    }

    /** A replica in the source, whose future log in the target has caught up. */
    static final class Replica extends Partition {
        boolean swapped;

        Replica() {
            super(null, 0, 0, null, null, null, null, null, null, null, null);
        }

        @Override
        public Option<Uuid> topicId() {
            return Option.apply(TOPIC);
        }

        @Override
        public Option<Uuid> logDirectoryId() {
            return Option.apply(SOURCE);
        }

        @Override
        public Option<Uuid> futureReplicaDirectoryId() {
            return Option.apply(TARGET);
        }

        @Override
        public boolean runCallbackIfFutureReplicaCaughtUp(Function1<UnifiedLog, BoxedUnit> callback) {
            callback.apply(null);
            return true;
        }

        @Override
        public boolean maybeReplaceCurrentWithFutureReplica() {
            swapped = true;
            return true;
        }
    }
}
