package org.apache.kafka.server;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.stream.Stream;
import kafka.cluster.Partition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.server.common.TopicIdPartition;
import org.apache.kafka.server.partition.AlterPartitionManager;
import org.apache.kafka.server.partition.CommittedPartitionState;
import org.apache.kafka.server.partition.PartitionState;
import org.apache.kafka.server.partition.PendingExpandIsr;
import org.apache.kafka.server.partition.PendingPartitionChange;

/** A leader that wants broker 2 in its ISR, and what it makes of answers and metadata: `Partition`. */
final class Proposals implements AlterPartitionManager {
    private static final CommittedPartitionState COMMITTED =
        new CommittedPartitionState(Set.of(1), LeaderRecoveryState.RECOVERED);

    private final List<CompletableFuture<LeaderAndIsr>> submitted = new ArrayList<>();
    private final PendingExpandIsr proposal;
    private final Partition partition;

    private Proposals(Logs logs) {
        partition = logs.partition(this);
        logs.lead(partition, Moves.SOURCE);
        proposal = new PendingExpandIsr(2, result(Logs.EPOCH, Logs.EPOCH), COMMITTED);
        try {
            partition.partitionState_$eq(proposal);
            Method submit = Partition.class.getDeclaredMethod("submitAlterPartition", PendingPartitionChange.class);
            submit.setAccessible(true);
            submit.invoke(partition, proposal);
        } catch (ReflectiveOperationException change) {
            throw new IllegalStateException(change);
        }
        BrokerDriver.require(submitted.size() == 1, "the proposal is sent once");
    }

    static void run(Logs logs) {
        Proposals known = new Proposals(logs);
        logs.lead(known.partition, Moves.SOURCE);
        BrokerDriver.show("equal-epoch-ends-proposal", known.state().equals(COMMITTED));
        known.submitted.get(0).complete(result(Logs.EPOCH, Logs.EPOCH + 1));
        BrokerDriver.show("answer-to-ended-proposal-is-ignored", known.state().equals(COMMITTED));

        PartitionState expanded = new CommittedPartitionState(Set.of(1, 2), LeaderRecoveryState.RECOVERED);
        BrokerDriver.show("answer-commits-proposal", Stream.of(Logs.EPOCH, Logs.EPOCH + 1).allMatch(partitionEpoch ->
            after(logs, result(Logs.EPOCH, partitionEpoch)).state().equals(expanded)));
        BrokerDriver.show("answer-of-other-epoch-is-ignored", Stream.of(
            result(Logs.EPOCH + 1, Logs.EPOCH + 1), result(Logs.EPOCH - 1, Logs.EPOCH + 1),
            result(Logs.EPOCH, Logs.EPOCH - 1)).allMatch(answer -> after(logs, answer).waits()));

        Predicate<Proposals> reverted = leader -> leader.state().equals(COMMITTED) && leader.submitted.size() == 1;
        BrokerDriver.show("refusal-reverts-proposal",
            all(logs, reverted, Errors.INELIGIBLE_REPLICA, Errors.OPERATION_NOT_ATTEMPTED));
        BrokerDriver.show("error-leaves-proposal-to-metadata", all(logs, Proposals::waits,
            Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.UNKNOWN_TOPIC_ID, Errors.FENCED_LEADER_EPOCH,
            Errors.INVALID_UPDATE_VERSION, Errors.INVALID_REQUEST, Errors.NEW_LEADER_ELECTED));
        BrokerDriver.show("other-error-resends-proposal", all(logs, leader ->
            leader.state() == leader.proposal && leader.submitted.size() == 2,
            Errors.NOT_CONTROLLER, Errors.UNKNOWN_SERVER_ERROR));
    }

    private static boolean all(Logs logs, Predicate<Proposals> expected, Errors... errors) {
        return Stream.of(errors).allMatch(error -> {
            Proposals leader = new Proposals(logs);
            leader.submitted.get(0).completeExceptionally(error.exception());
            return expected.test(leader);
        });
    }

    private static Proposals after(Logs logs, LeaderAndIsr answer) {
        Proposals leader = new Proposals(logs);
        leader.submitted.get(0).complete(answer);
        return leader;
    }

    /** Leader 1 with the proposed ISR, at these epochs. */
    private static LeaderAndIsr result(int leaderEpoch, int partitionEpoch) {
        return new LeaderAndIsr(1, leaderEpoch, List.of(1, 2), LeaderRecoveryState.RECOVERED, partitionEpoch);
    }

    private PartitionState state() {
        return partition.partitionState();
    }

    /** Whether the proposal is still pending, and was not sent again. */
    private boolean waits() {
        return state() == proposal && submitted.size() == 1;
    }

    @Override
    public CompletableFuture<LeaderAndIsr> submit(TopicIdPartition of, LeaderAndIsr proposed) {
        CompletableFuture<LeaderAndIsr> answer = new CompletableFuture<>();
        submitted.add(answer);
        return answer;
    }

    @Override
    public void start() { }

    @Override
    public void shutdown() { }
}
