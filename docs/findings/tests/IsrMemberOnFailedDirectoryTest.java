package org.apache.kafka.controller;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.junit.jupiter.api.Test;

/** Shows a defect: isr-directory-online. Found by kraftcheck in kraft, scope tiny (brokers 2, replication 2, min-isr 1, elr 0, epochs 6, lag 14, loss 0, records 1, unclean-stops 0, fences 1, shrinks 0, directories 2, failures 1, moves 0, copies 0, reassignment 0, crashes 0, repairs 0, disk-changes 0, metadata-slot 0, start 0, clean-stops 0, reassignments 0, unclean-elections 0, config-changes 0, second 0, deletions 0), rules kafka-4.4.0. */
class IsrMemberOnFailedDirectoryTest {
    @Test
    void isrMemberOnFailedDirectory() throws Exception {
        TourDriver.Managers managers = TourDriver.Managers.in(2, 2, 0, 1, 3, 3, 3, 0, -2, 0, 0, 0, 0, 3, 0, 0, 3, 3, 1, 0, 0);

        // 1. report(broker=1, delivered=True)
        assertEquals(TourDriver.DONE, managers.act("directories_offline", 1, 1, 0));
        PartitionRegistration after1 = managers.partition();
        assertEquals(0, after1.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after1.replicas), "replicas");
        assertEquals(List.of(), ordered(after1.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0), sorted(after1.isr), "isr");
        assertEquals(List.of(), sorted(after1.elr), "elr");
        assertEquals(List.of(), sorted(after1.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after1.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after1.leaderRecoveryState);
        assertEquals(List.of(3, 3), numbers(after1.directories), "directories");
        assertEquals(managers.dirsOf(1, 2), managers.online(1), "online directories");

        // 2. alter_partition()
        assertEquals(TourDriver.DONE, managers.act("alter_partition", 0, 0, 3));
        PartitionRegistration after2 = managers.partition();
        assertEquals(0, after2.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after2.replicas), "replicas");
        assertEquals(List.of(), ordered(after2.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0, 1), sorted(after2.isr), "isr");
        assertEquals(List.of(), sorted(after2.elr), "elr");
        assertEquals(List.of(), sorted(after2.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after2.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after2.leaderRecoveryState);
        assertEquals(List.of(3, 3), numbers(after2.directories), "directories");
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
