package org.apache.kafka.controller;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.junit.jupiter.api.Test;

/** Shows a defect: volunteer-is-elected. Found by kraftcheck in healing-elections, scope tiny (brokers 2, directories 1, replication 2, reassignment 1, reserved 0), rules kafka-4.4.0. */
class RemovedLastKnownLeaderTest {
    @Test
    void removedLastKnownLeader() throws Exception {
        TourDriver.Managers managers = TourDriver.Managers.in(2, 1, 0, -1, 3, 1, 1, 0, -2, 0, 0, 0, 0, 3, 0, 0, 1, 1, 2, 0, 0);

        // 1. reassign(target=[0,1])
        assertEquals(TourDriver.DONE, managers.act("reassign", -1, 0, 0, 0, 1));
        PartitionRegistration after1 = managers.partition();
        assertEquals(0, after1.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after1.replicas), "replicas");
        assertEquals(List.of(), ordered(after1.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0), sorted(after1.isr), "isr");
        assertEquals(List.of(), sorted(after1.elr), "elr");
        assertEquals(List.of(), sorted(after1.removingReplicas), "removing");
        assertEquals(List.of(1), sorted(after1.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after1.leaderRecoveryState);
        assertEquals(List.of(3, 3), numbers(after1.directories), "directories");

        // 2. set_unclean_election()
        assertEquals(TourDriver.DONE, managers.act("set_unclean_election", -1, 0, 0));
        PartitionRegistration after2 = managers.partition();
        assertEquals(0, after2.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after2.replicas), "replicas");
        assertEquals(List.of(), ordered(after2.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0), sorted(after2.isr), "isr");
        assertEquals(List.of(), sorted(after2.elr), "elr");
        assertEquals(List.of(), sorted(after2.removingReplicas), "removing");
        assertEquals(List.of(1), sorted(after2.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after2.leaderRecoveryState);
        assertEquals(List.of(3, 3), numbers(after2.directories), "directories");

        // 3. fence(broker=0)
        assertEquals(TourDriver.DONE, managers.act("fence", 0, 0, 0));
        PartitionRegistration after3 = managers.partition();
        assertEquals(1, after3.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after3.replicas), "replicas");
        assertEquals(List.of(), ordered(after3.lastKnownElr), "last_known_elr");
        assertEquals(List.of(1), sorted(after3.isr), "isr");
        assertEquals(List.of(), sorted(after3.elr), "elr");
        assertEquals(List.of(), sorted(after3.removingReplicas), "removing");
        assertEquals(List.of(1), sorted(after3.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERING, after3.leaderRecoveryState);
        assertEquals(List.of(3, 3), numbers(after3.directories), "directories");

        // 4. enable_elr()
        assertEquals(TourDriver.DONE, managers.act("enable_elr", -1, 0, 0));
        PartitionRegistration after4 = managers.partition();
        assertEquals(1, after4.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after4.replicas), "replicas");
        assertEquals(List.of(), ordered(after4.lastKnownElr), "last_known_elr");
        assertEquals(List.of(1), sorted(after4.isr), "isr");
        assertEquals(List.of(), sorted(after4.elr), "elr");
        assertEquals(List.of(), sorted(after4.removingReplicas), "removing");
        assertEquals(List.of(1), sorted(after4.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERING, after4.leaderRecoveryState);
        assertEquals(List.of(3, 3), numbers(after4.directories), "directories");

        // 5. cancel()
        assertEquals(TourDriver.DONE, managers.act("cancel", -1, 0, 0));
        PartitionRegistration after5 = managers.partition();
        assertEquals(-1, after5.leader, "leader");
        assertEquals(List.of(0), ordered(after5.replicas), "replicas");
        assertEquals(List.of(1), ordered(after5.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0), sorted(after5.isr), "isr");
        assertEquals(List.of(1), sorted(after5.elr), "elr");
        assertEquals(List.of(), sorted(after5.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after5.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERING, after5.leaderRecoveryState);
        assertEquals(List.of(3), numbers(after5.directories), "directories");

        // 6. new_incarnation(broker=0, clean=False, dirs={0})
        assertEquals(TourDriver.DONE, managers.act("new_incarnation", 0, 0, 1));
        PartitionRegistration after6 = managers.partition();
        assertEquals(-1, after6.leader, "leader");
        assertEquals(List.of(0), ordered(after6.replicas), "replicas");
        assertEquals(List.of(1), ordered(after6.lastKnownElr), "last_known_elr");
        assertEquals(List.of(), sorted(after6.isr), "isr");
        assertEquals(List.of(1), sorted(after6.elr), "elr");
        assertEquals(List.of(), sorted(after6.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after6.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERING, after6.leaderRecoveryState);
        assertEquals(List.of(3), numbers(after6.directories), "directories");

        // 7. set_unclean_election()
        assertEquals(TourDriver.DONE, managers.act("set_unclean_election", -1, 0, 0));
        PartitionRegistration after7 = managers.partition();
        assertEquals(-1, after7.leader, "leader");
        assertEquals(List.of(0), ordered(after7.replicas), "replicas");
        assertEquals(List.of(1), ordered(after7.lastKnownElr), "last_known_elr");
        assertEquals(List.of(), sorted(after7.isr), "isr");
        assertEquals(List.of(1), sorted(after7.elr), "elr");
        assertEquals(List.of(), sorted(after7.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after7.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERING, after7.leaderRecoveryState);
        assertEquals(List.of(3), numbers(after7.directories), "directories");

        // 8. disable_elr()
        assertEquals(TourDriver.DONE, managers.act("disable_elr", -1, 0, 0));
        PartitionRegistration after8 = managers.partition();
        assertEquals(-1, after8.leader, "leader");
        assertEquals(List.of(0), ordered(after8.replicas), "replicas");
        assertEquals(List.of(1), ordered(after8.lastKnownElr), "last_known_elr");
        assertEquals(List.of(), sorted(after8.isr), "isr");
        assertEquals(List.of(1), sorted(after8.elr), "elr");
        assertEquals(List.of(), sorted(after8.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after8.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERING, after8.leaderRecoveryState);
        assertEquals(List.of(3), numbers(after8.directories), "directories");

        // 9. unfence(broker=0)
        assertEquals(TourDriver.DONE, managers.act("unfence", 0, 0, 0));
        PartitionRegistration after9 = managers.partition();
        assertEquals(-1, after9.leader, "leader");
        assertEquals(List.of(0), ordered(after9.replicas), "replicas");
        assertEquals(List.of(1), ordered(after9.lastKnownElr), "last_known_elr");
        assertEquals(List.of(), sorted(after9.isr), "isr");
        assertEquals(List.of(), sorted(after9.elr), "elr");
        assertEquals(List.of(), sorted(after9.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after9.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERING, after9.leaderRecoveryState);
        assertEquals(List.of(3), numbers(after9.directories), "directories");

        // 10. set_unclean_election()
        assertEquals(TourDriver.DONE, managers.act("set_unclean_election", -1, 0, 0));
        PartitionRegistration after10 = managers.partition();
        assertEquals(-1, after10.leader, "leader");
        assertEquals(List.of(0), ordered(after10.replicas), "replicas");
        assertEquals(List.of(1), ordered(after10.lastKnownElr), "last_known_elr");
        assertEquals(List.of(), sorted(after10.isr), "isr");
        assertEquals(List.of(), sorted(after10.elr), "elr");
        assertEquals(List.of(), sorted(after10.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after10.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERING, after10.leaderRecoveryState);
        assertEquals(List.of(3), numbers(after10.directories), "directories");

        // 11. enable_elr()
        assertEquals(TourDriver.DONE, managers.act("enable_elr", -1, 0, 0));
        PartitionRegistration after11 = managers.partition();
        assertEquals(-1, after11.leader, "leader");
        assertEquals(List.of(0), ordered(after11.replicas), "replicas");
        assertEquals(List.of(1), ordered(after11.lastKnownElr), "last_known_elr");
        assertEquals(List.of(), sorted(after11.isr), "isr");
        assertEquals(List.of(), sorted(after11.elr), "elr");
        assertEquals(List.of(), sorted(after11.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after11.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERING, after11.leaderRecoveryState);
        assertEquals(List.of(3), numbers(after11.directories), "directories");

        // 12. unclean_timer()
        assertEquals(TourDriver.RESIGNED, managers.act("unclean_timer", -1, 0, 0));
        PartitionRegistration after12 = managers.partition();
        assertEquals(-1, after12.leader, "leader");
        assertEquals(List.of(0), ordered(after12.replicas), "replicas");
        assertEquals(List.of(1), ordered(after12.lastKnownElr), "last_known_elr");
        assertEquals(List.of(), sorted(after12.isr), "isr");
        assertEquals(List.of(), sorted(after12.elr), "elr");
        assertEquals(List.of(), sorted(after12.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after12.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERING, after12.leaderRecoveryState);
        assertEquals(List.of(3), numbers(after12.directories), "directories");

        // 13. balance_timer()
        assertEquals(TourDriver.RESIGNED, managers.act("balance_timer", -1, 0, 0));
        PartitionRegistration after13 = managers.partition();
        assertEquals(-1, after13.leader, "leader");
        assertEquals(List.of(0), ordered(after13.replicas), "replicas");
        assertEquals(List.of(1), ordered(after13.lastKnownElr), "last_known_elr");
        assertEquals(List.of(), sorted(after13.isr), "isr");
        assertEquals(List.of(), sorted(after13.elr), "elr");
        assertEquals(List.of(), sorted(after13.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after13.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERING, after13.leaderRecoveryState);
        assertEquals(List.of(3), numbers(after13.directories), "directories");
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
