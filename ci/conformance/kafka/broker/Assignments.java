package org.apache.kafka.server;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
import org.apache.kafka.common.message.AssignReplicasToDirsResponseData;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.requests.AssignReplicasToDirsRequest;
import org.apache.kafka.common.requests.AssignReplicasToDirsResponse;
import org.apache.kafka.image.LocalReplicaChanges;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.TopicDelta;
import org.apache.kafka.image.TopicImage;
import org.apache.kafka.server.common.TopicIdPartition;

/** Assignments of one replica that follow each other: `AssignmentsManager`. */
final class Assignments {
    private static final Uuid TOPIC = new Uuid(1, 1);
    private static final TopicIdPartition PARTITION = new TopicIdPartition(TOPIC, 0);
    private static final Uuid SOURCE = new Uuid(7, 1);
    private static final Uuid TARGET = new Uuid(7, 2);
    private static final long DELAY = 200;

    private final Controller controller = new Controller();
    private final Controller.Clock clock = new Controller.Clock();
    private final AtomicInteger moves = new AtomicInteger();
    private final AtomicInteger corrections = new AtomicInteger();
    private final AssignmentsManager manager;

    private Assignments() {
        MetadataImage image = image();
        manager = new AssignmentsManager(clock, controller, 1, () -> image, Uuid::toString);
    }

    private static MetadataImage image() {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        delta.replay(new TopicRecord().setName("foo").setTopicId(TOPIC));
        delta.replay(new PartitionRecord().setTopicId(TOPIC).setPartitionId(0).setReplicas(List.of(1)).setIsr(List.of(1))
            .setLeader(1));
        return delta.apply(new MetadataProvenance(1, 1, 1, true));
    }

    static void run() throws Exception {
        alone();
        replacedBeforeSending();
        replacedInFlight();
        addedReplica();
    }

    /** A reassignment makes the broker a replica; what it hands to be assigned is empty, that of a new topic is not. */
    private static void addedReplica() {
        TopicDelta made = new TopicDelta(new TopicImage("foo", TOPIC, Map.of()));
        made.replay(new PartitionRecord().setTopicId(TOPIC).setPartitionId(0).setReplicas(List.of(2)).setIsr(List.of(2))
            .setLeader(2).setDirectories(List.of(SOURCE)));
        BrokerDriver.require(made.localChanges(2).directoryIds().size() == 1, "a new topic hands its directory");
        TopicDelta delta = new TopicDelta(made.apply());
        delta.replay(new PartitionChangeRecord().setTopicId(TOPIC).setPartitionId(0).setReplicas(List.of(1, 2))
            .setDirectories(List.of(DirectoryId.UNASSIGNED, SOURCE)));
        LocalReplicaChanges changes = delta.localChanges(1);
        BrokerDriver.require(changes.followers().size() == 1, "the broker follows");
        BrokerDriver.show("added-replica-is-not-assigned", changes.directoryIds().isEmpty());
        TopicDelta later = new TopicDelta(delta.apply());
        later.replay(new PartitionChangeRecord().setTopicId(TOPIC).setPartitionId(0)
            .setDirectories(List.of(new Uuid(0, 0), TARGET)));
        BrokerDriver.show("rewritten-directories-are-assigned", later.localChanges(1).directoryIds().size() == 1);
    }

    /** The case that shows that a move hears of its success. */
    private static void alone() throws Exception {
        Assignments broker = new Assignments();
        broker.move();
        broker.grant(broker.send(TARGET));
        BrokerDriver.show("success-runs-callback", broker.moves.get() == 1);
        broker.manager.close();
    }

    /** The correction comes while the assignment of the move waits to be sent. */
    private static void replacedBeforeSending() throws Exception {
        Assignments broker = new Assignments();
        broker.move();
        broker.correct();
        broker.grant(broker.send(SOURCE));
        BrokerDriver.require(broker.corrections.get() == 1, "the correction hears of its success");
        BrokerDriver.require(broker.manager.numPending() == 0, "nothing waits");
        BrokerDriver.show("replaced-assignment-loses-callback", broker.moves.get() == 0);
        broker.manager.close();
    }

    /** The correction comes while the assignment of the move is under way. */
    private static void replacedInFlight() throws Exception {
        Assignments broker = new Assignments();
        broker.move();
        Controller.Sent sent = broker.send(TARGET);
        broker.correct();
        broker.grant(sent);
        BrokerDriver.require(broker.manager.numPending() == 1, "the correction waits");
        BrokerDriver.show("move-is-granted-while-correction-waits", broker.moves.get() == 1);
        broker.manager.close();
    }

    private void move() {
        manager.onAssignment(PARTITION, TARGET, "move", moves::incrementAndGet);
    }

    private void correct() {
        manager.onAssignment(PARTITION, SOURCE, "correction", corrections::incrementAndGet);
    }

    /** Let time pass until the request is sent, which has to name one directory. */
    private Controller.Sent send(Uuid directory) throws Exception {
        clock.advance(DELAY);
        settle();
        Controller.Sent sent = controller.next();
        List<AssignReplicasToDirsRequestData.DirectoryData> asked = request(sent).directories();
        BrokerDriver.require(asked.size() == 1 && asked.get(0).id().equals(directory), "it assigns that directory");
        return sent;
    }

    private void grant(Controller.Sent sent) throws Exception {
        AssignReplicasToDirsResponseData reply = new AssignReplicasToDirsResponseData();
        for (AssignReplicasToDirsRequestData.DirectoryData directory : request(sent).directories()) {
            AssignReplicasToDirsResponseData.PartitionData partition =
                new AssignReplicasToDirsResponseData.PartitionData().setPartitionIndex(0);
            AssignReplicasToDirsResponseData.TopicData topic =
                new AssignReplicasToDirsResponseData.TopicData().setTopicId(TOPIC).setPartitions(List.of(partition));
            reply.directories().add(new AssignReplicasToDirsResponseData.DirectoryData().setId(directory.id())
                .setTopics(List.of(topic)));
        }
        sent.reply(new AssignReplicasToDirsResponse(reply));
        settle();
    }

    private static AssignReplicasToDirsRequestData request(Controller.Sent sent) {
        return ((AssignReplicasToDirsRequest) sent.request()).data();
    }

    /** Wait until everything that is due was done: the answer comes from the manager's own thread. */
    private void settle() throws Exception {
        manager.previousGlobalFailures();
    }
}
