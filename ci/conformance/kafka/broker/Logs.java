package org.apache.kafka.server;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import kafka.cluster.Partition;
import kafka.server.ReplicaManager;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.KafkaStorageException;
import org.apache.kafka.common.errors.NotLeaderOrFollowerException;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.partition.AlterPartitionListener;
import org.apache.kafka.server.partition.AlterPartitionManager;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.server.util.FileLock;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogManager;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Option;

/** Real logs in directories of a temporary folder: `LogManager`, `Partition` and `ReplicaManager`. */
final class Logs {
    private static final Uuid OFFLINE = new Uuid(7, 3);
    private static final int LENGTH = 3;
    private static final AlterPartitionListener LISTENER = new AlterPartitionListener() {
        @Override
        public void markIsrExpand() { }

        @Override
        public void markIsrShrink() { }

        @Override
        public void markFailed() { }
    };
    /** Both epochs of the metadata that a case hands out. */
    static final int EPOCH = 5;

    private final Path folder = Files.createTempDirectory("broker-driver-");
    private final KafkaScheduler scheduler = new KafkaScheduler(1);
    final LogManager manager;

    /** Two directories, and with `offline` a third that failed before the start. */
    private Logs(boolean offline) throws Exception {
        Path source = directory("source", Moves.SOURCE);
        Path target = directory("target", Moves.TARGET);
        Path failed = directory("failed", OFFLINE);
        manager = manager(source + "," + target + (offline ? "," + failed : ""),
            offline ? Set.of(failed.toString()) : Set.of());
        scheduler.startup();
        manager.getOrCreateLog(Moves.PARTITION, true, false, Optional.of(Moves.TOPIC), Optional.of(Moves.SOURCE));
        BrokerDriver.require(directory().equals(Moves.SOURCE), "the log is in the source");
    }

    private LogManager manager(String directories, Set<String> offline) {
        return kafka.log.LogManager.apply(Heartbeats.config(directories), offline, resource -> new Properties(),
            scheduler, Time.SYSTEM, new BrokerTopicStats(), new LogDirFailureChannel(3));
    }

    static void run() throws Exception {
        withLogs(false, Logs::startWithFutureLog);
        withLogs(false, Logs::startAfterTornPromotion);
        withLogs(true, Logs::leadBesideFailedDirectory);
        withLogs(false, Logs::metadataOfTarget);
        withLogs(true, Logs::leadFromUnknownDirectory);
        withLogs(false, Proposals::run);
        withLogs(false, Logs::leadAgain);
        withLogs(false, Logs::endMove);
        withLogs(false, Contradiction::run);
        withLogs(false, Contradiction::runAgain);
    }

    private interface Case {
        void run(Logs logs) throws Exception;
    }

    private static void withLogs(boolean offline, Case put) throws Exception {
        Logs logs = new Logs(offline);
        try {
            put.run(logs);
        } finally {
            logs.scheduler.shutdown();
            logs.delete();
        }
    }

    /** A broker starts with three records in its log and none in a future log where metadata has the replica. */
    private static void startWithFutureLog(Logs logs) throws Exception {
        logs.append();
        logs.createFutureLog();
        logs.manager.recoverAbandonedFutureLogs(1, (topic, partition, broker) -> Moves.SOURCE);
        BrokerDriver.require(logs.end() == LENGTH, "metadata of the source keeps the log");
        logs.manager.recoverAbandonedFutureLogs(1, (topic, partition, broker) -> Moves.TARGET);
        BrokerDriver.require(logs.directory().equals(Moves.TARGET), "metadata of the target replaces it");
        BrokerDriver.show("start-takes-shorter-future-log", logs.end() == 0);
    }

    /** The source is away while a move ends, between the two renames, and is back when the broker starts again. */
    private static void startAfterTornPromotion(Logs logs) throws Exception {
        logs.createFutureLog();
        Path source = logs.folder.resolve("source").resolve(Moves.PARTITION.toString());
        Path away = logs.folder.resolve("away");
        Files.move(source, away);
        boolean torn = false;
        try {
            logs.manager.replaceCurrentWithFutureLog(Moves.PARTITION);
        } catch (KafkaStorageException expected) {
            torn = true;
        }
        Files.move(away, source);
        Path target = Path.of(logs.target());
        BrokerDriver.require(torn && Files.exists(target.resolve(Moves.PARTITION.toString())), "one log was renamed");
        for (FileLock lock : logs.manager.dirLocks()) {
            lock.destroy();
        }
        boolean refused = false;
        try {
            logs.manager(source.getParent() + "," + target, Set.of()).startup(Set.of(Moves.PARTITION.topic()));
        } catch (IllegalStateException expected) {
            refused = true;
        }
        BrokerDriver.show("two-logs-stop-start", refused);
    }

    /** A broker with a failed directory leads a replica without a log, and metadata knows no directory of it. */
    private static void leadBesideFailedDirectory(Logs logs) {
        logs.manager.asyncDelete(Moves.PARTITION);
        BrokerDriver.require(logs.manager.getLog(Moves.PARTITION).isEmpty(), "there is no log");
        logs.lead(logs.partition(null), DirectoryId.UNASSIGNED);
        BrokerDriver.show("empty-log-beside-failed-directory", logs.manager.getLog(Moves.PARTITION).isPresent());
    }

    /** Metadata has the replica in the target, where its future log is. */
    private static void metadataOfTarget(Logs logs) throws Exception {
        logs.createFutureLog();
        Moves.Manager replicas = Moves.unbuilt(Moves.Manager.class);
        replicas.logs = logs.manager;
        Moves.Handler handler = new Moves.Handler();
        replicas.handler = handler;
        Method correct = ReplicaManager.class.getDeclaredMethod(
            "maybeUpdateTopicAssignment", TopicIdPartition.class, Uuid.class);
        correct.setAccessible(true);
        TopicIdPartition partition = new TopicIdPartition(Moves.TOPIC, Moves.PARTITION);
        correct.invoke(replicas, partition, Moves.SOURCE);
        BrokerDriver.require(handler.assigned.isEmpty(), "metadata of the source is right");
        correct.invoke(replicas, partition, Moves.TARGET);
        BrokerDriver.show("correction-ignores-future-log", handler.assigned.equals(List.of(Moves.SOURCE)));
    }

    /** A broker with a failed directory becomes leader, and metadata does not know where its replica is. */
    private static void leadFromUnknownDirectory(Logs logs) {
        Partition right = logs.partition(null);
        BrokerDriver.require(logs.lead(right, Moves.SOURCE), "it leads where the directory is right");
        boolean thrown = false;
        try {
            logs.lead(logs.partition(null), OFFLINE);
        } catch (NotLeaderOrFollowerException expected) {
            thrown = true;
        }
        BrokerDriver.show("unknown-directory-hides-log", thrown);
    }

    /** A leader whose future log is empty, and then has its records. */
    private static void endMove(Logs logs) throws Exception {
        Partition leader = logs.partition(null);
        BrokerDriver.require(logs.lead(leader, Moves.SOURCE), "it leads");
        logs.append();
        logs.createFutureLog();
        leader.maybeCreateFutureReplica(logs.target(), (place, of) -> Optional.empty(), Option.apply(Moves.TOPIC));
        boolean early = leader.maybeReplaceCurrentWithFutureReplica();
        leader.futureLocalLogOrException().appendAsFollower(
            MemoryRecords.withRecords(0L, Compression.NONE, EPOCH, records()), EPOCH);
        boolean level = leader.maybeReplaceCurrentWithFutureReplica();
        BrokerDriver.show("future-log-waits-until-level", !early && level);
        BrokerDriver.show("promoted-log-has-every-record",
            logs.directory().equals(Moves.TARGET) && logs.end() == LENGTH && leader.futureLog().isEmpty());
    }

    /** A leader with two followers leads two epochs later without a word of the epoch between. */
    private static void leadAgain(Logs logs) throws Exception {
        MetadataCache brokers = (MetadataCache) Proxy.newProxyInstance(Logs.class.getClassLoader(),
            new Class<?>[] {MetadataCache.class}, (proxy, method, arguments) ->
                method.getReturnType() == boolean.class ? false : Optional.empty());
        Partition leader = logs.partition(null, brokers);
        logs.lead(leader, Moves.SOURCE, EPOCH, 1, 2);
        logs.append();
        Replica follower = leader.getReplica(2).get();
        follower.updateFetchStateOrThrow(new LogOffsetMetadata(LENGTH), 0, Time.SYSTEM.milliseconds(), LENGTH, -1);
        logs.lead(leader, Moves.SOURCE, EPOCH + 2, 1, 2);
        long highWatermark = logs.manager.getLog(Moves.PARTITION).get().highWatermark();
        BrokerDriver.show("reelected-leader-keeps-ends",
            highWatermark == LENGTH && follower.stateSnapshot().logEndOffset() == LENGTH);
    }

    Partition partition(AlterPartitionManager proposals) {
        return partition(proposals, null);
    }

    private Partition partition(AlterPartitionManager proposals, MetadataCache brokers) {
        return new Partition(Moves.PARTITION, 30_000, 1, () -> 1L, Time.SYSTEM, LISTENER, null, brokers, manager,
            proposals, Option.apply(Moves.TOPIC)) {
            @Override
            public void tryCompleteDelayedRequests() { }
        };
    }

    /** Hand the partition, as one new to this process, metadata by which this broker leads alone, in the same epochs. */
    boolean lead(Partition partition, Uuid directory) {
        return lead(partition, directory, EPOCH, 1);
    }

    private boolean lead(Partition partition, Uuid directory, int epoch, int... replicas) {
        Uuid[] directories = new Uuid[replicas.length];
        Arrays.fill(directories, directory);
        PartitionRegistration registration = new PartitionRegistration.Builder().setReplicas(replicas)
            .setDirectories(directories).setIsr(replicas).setLeader(1)
            .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
            .setLeaderEpoch(epoch).setPartitionEpoch(epoch).build();
        partition.makeLeader(registration, true, (place, of) -> Optional.empty(), Option.apply(Moves.TOPIC),
            Option.apply(directory));
        return partition.isLeader();
    }

    private static SimpleRecord[] records() {
        SimpleRecord[] records = new SimpleRecord[LENGTH];
        Arrays.setAll(records, n -> new SimpleRecord(new byte[] {(byte) n}));
        return records;
    }

    private void append() throws IOException {
        manager.getLog(Moves.PARTITION).get().appendAsLeader(MemoryRecords.withRecords(Compression.NONE, records()), 0);
        BrokerDriver.require(end() == LENGTH, "the log has its records");
    }

    void createFutureLog() throws IOException {
        manager.maybeUpdatePreferredLogDir(Moves.PARTITION, target());
        manager.getOrCreateLog(Moves.PARTITION, true, true, Optional.of(Moves.TOPIC));
    }

    /** The directory of the future log. */
    String target() {
        return folder.resolve("target").toString();
    }

    private long end() {
        return manager.getLog(Moves.PARTITION).get().logEndOffset();
    }

    /** Where the current log is. */
    Uuid directory() {
        return manager.directoryId(manager.getLog(Moves.PARTITION).get().parentDir()).get();
    }

    private Path directory(String name, Uuid id) throws IOException {
        Path path = Files.createDirectory(folder.resolve(name));
        Files.writeString(path.resolve("meta.properties"),
            "version=1\ncluster.id=cluster\nnode.id=1\ndirectory.id=" + id + "\n");
        return path;
    }

    private void delete() throws IOException {
        try (var paths = Files.walk(folder)) {
            for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }
}
