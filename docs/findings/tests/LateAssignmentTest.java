package org.apache.kafka.controller;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.junit.jupiter.api.Test;

/** Shows a defect: assignment-settles. Found by kraftcheck in directories, scope tiny (brokers 1, directories 2, replication 1, elr 0, metadata-slot 0, start 0, failures 1, crashes 1, clean-stops 0, fences 0, moves 1, copies 1, repairs 0, disk-changes 0, reassignments 0, records 1, reassignment 0), rules kafka-4.4.0-correction-ignores-future-log-epoch-change-forgets-promotion. */
class LateAssignmentTest {
    @Test
    void lateAssignment() throws Exception {
        TourDriver.Managers managers = TourDriver.Managers.in(1, 2, 0, 1, 1, 0, -2, 0, 0, 0, 0, 1, 0, 0, 3, 1, 0, 0);

        // 1. assign(broker=0)
        assertEquals(TourDriver.DONE, managers.act("assign", 0, 3, 0));
        PartitionRegistration after1 = managers.partition();
        assertEquals(0, after1.leader, "leader");
        assertEquals(List.of(0), ordered(after1.replicas), "replicas");
        assertEquals(List.of(), ordered(after1.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0), sorted(after1.isr), "isr");
        assertEquals(List.of(), sorted(after1.elr), "elr");
        assertEquals(List.of(), sorted(after1.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after1.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after1.leaderRecoveryState);
        assertEquals(List.of(3), numbers(after1.directories), "directories");

        // 2. assign_late(broker=0)
        assertEquals(TourDriver.DONE, managers.act("assign_late", 0, 4, 0));
        PartitionRegistration after2 = managers.partition();
        assertEquals(0, after2.leader, "leader");
        assertEquals(List.of(0), ordered(after2.replicas), "replicas");
        assertEquals(List.of(), ordered(after2.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0), sorted(after2.isr), "isr");
        assertEquals(List.of(), sorted(after2.elr), "elr");
        assertEquals(List.of(), sorted(after2.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after2.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after2.leaderRecoveryState);
        assertEquals(List.of(4), numbers(after2.directories), "directories");
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
