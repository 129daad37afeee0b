package org.apache.kafka.controller;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.junit.jupiter.api.Test;

/** Shows a defect: isr-directory-online. Found by kraftcheck in elections, scope directories (brokers 2, directories 2, replication 2, reassignment 0, reserved 0), rules kafka-4.4.0-passes-share-one-base. */
class IsrMemberOnFailedDirectoryTest {
    @Test
    void isrMemberOnFailedDirectory() throws Exception {
        TourDriver.Managers managers = TourDriver.Managers.in(2, 2, 0, 1, 1, 1, 3, 0, -2, 0, 0, 0, 0, 3, 0, 0, 3, 3, 1, 0, 0);

        // 1. directories_offline(broker=0, failed={1})
        assertEquals(TourDriver.DONE, managers.act("directories_offline", 0, 2, 0));
        PartitionRegistration after1 = managers.partition();
        assertEquals(0, after1.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after1.replicas), "replicas");
        assertEquals(List.of(), ordered(after1.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0, 1), sorted(after1.isr), "isr");
        assertEquals(List.of(), sorted(after1.elr), "elr");
        assertEquals(List.of(), sorted(after1.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after1.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after1.leaderRecoveryState);
        assertEquals(List.of(1, 1), numbers(after1.directories), "directories");
        assertEquals(managers.dirsOf(0, 1), managers.online(0), "online directories");

        // 2. assign(broker=0, directory=4)
        assertEquals(TourDriver.DONE, managers.act("assign", 0, 4, 0));
        PartitionRegistration after2 = managers.partition();
        assertEquals(1, after2.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after2.replicas), "replicas");
        assertEquals(List.of(), ordered(after2.lastKnownElr), "last_known_elr");
        assertEquals(List.of(1), sorted(after2.isr), "isr");
        assertEquals(List.of(), sorted(after2.elr), "elr");
        assertEquals(List.of(), sorted(after2.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after2.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after2.leaderRecoveryState);
        assertEquals(List.of(4, 1), numbers(after2.directories), "directories");

        // 3. alter_partition(isr={0,1}, recovering=False)
        assertEquals(TourDriver.DONE, managers.act("alter_partition", -1, 0, 3));
        PartitionRegistration after3 = managers.partition();
        assertEquals(1, after3.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after3.replicas), "replicas");
        assertEquals(List.of(), ordered(after3.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0, 1), sorted(after3.isr), "isr");
        assertEquals(List.of(), sorted(after3.elr), "elr");
        assertEquals(List.of(), sorted(after3.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after3.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after3.leaderRecoveryState);
        assertEquals(List.of(4, 1), numbers(after3.directories), "directories");
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
