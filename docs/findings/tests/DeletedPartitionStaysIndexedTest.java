package org.apache.kafka.controller;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.junit.jupiter.api.Test;

/** Shows a defect: controller-stays. Found by kraftcheck in kraft, scope deletion (brokers 2, replication 1, min-isr 1, elr 1, epochs 6, lag 14, loss 0, records 1, unclean-stops 0, fences 1, shrinks 0, directories 2, failures 1, moves 0, copies 0, reassignment 0, crashes 0, repairs 0, disk-changes 0, metadata-slot 0, start 0, clean-stops 0, reassignments 0, unclean-elections 0, config-changes 0, second 1, deletions 1), rules kafka-4.4.0. */
class DeletedPartitionStaysIndexedTest {
    @Test
    void deletedPartitionStaysIndexed() throws Exception {
        TourDriver.Managers managers = TourDriver.Managers.in(2, 2, 0, -1, 1, 1, 1, 0, -2, 0, 0, 0, 0, 3, 0, 0, 3, 3, 1, 0, 1);

        // 1. fence(broker=0)
        assertEquals(TourDriver.DONE, managers.act("fence", 0, 0, 0));
        PartitionRegistration after1 = managers.partition();
        assertEquals(-1, after1.leader, "leader");
        assertEquals(List.of(0), ordered(after1.replicas), "replicas");
        assertEquals(List.of(0), ordered(after1.lastKnownElr), "last_known_elr");
        assertEquals(List.of(), sorted(after1.isr), "isr");
        assertEquals(List.of(0), sorted(after1.elr), "elr");
        assertEquals(List.of(), sorted(after1.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after1.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after1.leaderRecoveryState);
        assertEquals(List.of(1), numbers(after1.directories), "directories");

        // 2. assign(broker=0)
        assertEquals(TourDriver.DONE, managers.act("assign", 0, 4, 0));
        PartitionRegistration after2 = managers.partition();
        assertEquals(-1, after2.leader, "leader");
        assertEquals(List.of(0), ordered(after2.replicas), "replicas");
        assertEquals(List.of(0), ordered(after2.lastKnownElr), "last_known_elr");
        assertEquals(List.of(), sorted(after2.isr), "isr");
        assertEquals(List.of(0), sorted(after2.elr), "elr");
        assertEquals(List.of(), sorted(after2.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after2.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after2.leaderRecoveryState);
        assertEquals(List.of(4), numbers(after2.directories), "directories");

        // 3. delete_second()
        assertEquals(TourDriver.DONE, managers.act("delete_topic", -1, 0, 0));

        // 4. unfence(broker=0, delivered=False)
        assertEquals(TourDriver.RESIGNED, managers.act("heartbeat", 0, 2, 0));
    }

    private static List<Integer> ordered(int[] members) {
        return IntStream.of(members).boxed().toList();
    }

    private static List<Integer> sorted(int[] members) {
        return IntStream.of(members).sorted().boxed().toList();
    }

    private static List<Integer> numbers(Uuid[] directories) {
        return Stream.of(directories).map(TourDriver.Managers::number).toList();
    }
}
