package org.apache.kafka.server;

import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import kafka.cluster.Partition;
import kafka.server.InitialFetchState;
import kafka.server.ReplicaAlterLogDirsThread;
import kafka.server.ReplicaManager;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
import org.apache.kafka.common.message.AssignReplicasToDirsResponseData;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.requests.AssignReplicasToDirsRequest;
import org.apache.kafka.common.requests.AssignReplicasToDirsResponse;
import org.apache.kafka.controller.GrantingController;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.DirectoryEventHandler;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A move between two directories, about which broker and controller contradict each other.
 *
 * The copier, the queue of assignments, the partition with its logs, the correction by metadata and the managers of the
 * controller are Kafka's; the order in which they come to their turns is the case's.
 */
final class Contradiction {
    private static final int ROUNDS = 5;
    private static final long EPOCH = 7;
    private static final long DELAY = 1_000;

    private final Logs logs;
    private final GrantingController decides =
        new GrantingController(1, EPOCH, Moves.TOPIC, List.of(Moves.SOURCE, Moves.TARGET));
    private final Controller channel = new Controller();
    private final Controller.Clock clock = new Controller.Clock();
    private final AssignmentsManager queue;
    private final Moves.Manager replicas = Moves.unbuilt(Moves.Manager.class);
    private final Partition partition;
    private final ReplicaAlterLogDirsThread copier;

    private Contradiction(Logs logs) throws Exception {
        this.logs = logs;
        MetadataImage image = image();
        queue = new AssignmentsManager(clock, channel, 1, () -> image, Uuid::toString);
        logs.createFutureLog();
        partition = logs.partition(null);
        replicas.replica = partition;
        replicas.logs = logs.manager;
        replicas.handler = new Queueing(queue);
        copier = Moves.copier(replicas, replicas.handler);
        metadata();
        BrokerDriver.require(queue.numPending() == 0 && placed().equals(Moves.SOURCE), "all agree on the source");
    }

    static void run(Logs logs) throws Exception {
        Contradiction move = new Contradiction(logs);
        BrokerDriver.show("contradiction-repeats", move.repeats(true));
        BrokerDriver.show("contradiction-repeats-unanswered", move.repeats(false));
        move.endsAfterAnswer();
        BrokerDriver.show("turn-before-metadata-ends-move", logs.directory().equals(Moves.TARGET));
        move.queue.close();
    }

    static void runAgain(Logs logs) throws Exception {
        Contradiction move = new Contradiction(logs);
        move.endsAfterMetadata();
        BrokerDriver.show("turn-before-correction-ends-move", logs.directory().equals(Moves.TARGET));
        move.queue.close();
    }

    private static MetadataImage image() {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        delta.replay(new RegisterBrokerRecord().setBrokerId(1).setBrokerEpoch(EPOCH).setFenced(false));
        delta.replay(new TopicRecord().setName("foo").setTopicId(Moves.TOPIC));
        delta.replay(new PartitionRecord().setTopicId(Moves.TOPIC).setPartitionId(0).setReplicas(List.of(1))
            .setIsr(List.of(1)).setLeader(1));
        return delta.apply(new MetadataProvenance(1, 1, 1, true));
    }

    /** Whether round after round ends where it began, with two more records written. */
    private boolean repeats(boolean answered) throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            Object before = copier.promotionStates().get(Moves.PARTITION);
            int epoch = decides.partition().partitionEpoch;
            turn();
            Controller.Sent asked = send();
            AssignReplicasToDirsResponseData reply = decides.assign(request(asked));
            BrokerDriver.require(placed().equals(Moves.TARGET), "the controller has recorded the target");
            if (answered) {
                answer(asked, reply);
            }
            metadata();
            if (!answered) {
                asked.lose();
                settle();
            }
            Controller.Sent corrected = send();
            answer(corrected, decides.assign(request(corrected)));
            metadata();
            boolean same = placed().equals(Moves.SOURCE) && logs.directory().equals(Moves.SOURCE)
                && queue.numPending() == 0 && before.equals(copier.promotionStates().get(Moves.PARTITION))
                && decides.partition().partitionEpoch == epoch + 2;
            if (!same) {
                return false;
            }
        }
        return true;
    }

    /** The copier has a turn between the answer and the metadata. */
    private void endsAfterAnswer() throws Exception {
        turn();
        Controller.Sent asked = send();
        answer(asked, decides.assign(request(asked)));
        turn();
    }

    /** The copier has a turn between the metadata and the correction that it causes, and one after the answer. */
    private void endsAfterMetadata() throws Exception {
        turn();
        Controller.Sent asked = send();
        AssignReplicasToDirsResponseData reply = decides.assign(request(asked));
        metadata();
        turn();
        answer(asked, reply);
        turn();
    }

    /** What the copier does after a fetch by which the future log is level. */
    private void turn() throws Exception {
        Method step = ReplicaAlterLogDirsThread.class.getDeclaredMethod(
            "maybePromoteFutureReplica", org.apache.kafka.common.TopicPartition.class, Partition.class);
        step.setAccessible(true);
        step.invoke(copier, Moves.PARTITION, partition);
    }

    /** What the broker does with metadata of a partition that it leads: `ReplicaManager.applyDelta`, call by call. */
    private void metadata() throws Exception {
        PartitionRegistration now = decides.partition();
        Uuid directory = now.directory(1);
        partition.makeLeader(now, false, (place, of) -> Optional.empty(), Option.apply(Moves.TOPIC),
            Option.apply(directory));
        partition.maybeCreateFutureReplica(logs.target(), (place, of) -> Optional.empty(), Option.apply(Moves.TOPIC));
        copier.addPartitions(CollectionConverters.asScala(Map.of(Moves.PARTITION,
            new InitialFetchState(Option.apply(Moves.TOPIC), Moves.SELF, now.leaderEpoch, 0))));
        Method correct = ReplicaManager.class.getDeclaredMethod(
            "maybeUpdateTopicAssignment", TopicIdPartition.class, Uuid.class);
        correct.setAccessible(true);
        correct.invoke(replicas, new TopicIdPartition(Moves.TOPIC, Moves.PARTITION), directory);
    }

    private Controller.Sent send() throws Exception {
        clock.advance(DELAY);
        settle();
        return channel.next();
    }

    private void answer(Controller.Sent sent, AssignReplicasToDirsResponseData reply) throws Exception {
        sent.reply(new AssignReplicasToDirsResponse(reply));
        settle();
    }

    private static AssignReplicasToDirsRequestData request(Controller.Sent sent) {
        return ((AssignReplicasToDirsRequest) sent.request()).data();
    }

    /** Where the controller has the replica. */
    private Uuid placed() {
        return decides.partition().directory(1);
    }

    private void settle() throws Exception {
        queue.previousGlobalFailures();
    }

    /** Hands what the broker wants assigned to the queue, as `BrokerServer` does. */
    private record Queueing(AssignmentsManager queue) implements DirectoryEventHandler {
        @Override
        public void handleAssignment(
            org.apache.kafka.server.common.TopicIdPartition of, Uuid directory, String reason, Runnable callback
        ) {
            queue.onAssignment(of, directory, reason, callback);
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
}
