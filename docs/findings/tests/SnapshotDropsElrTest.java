package org.apache.kafka.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shows a defect: ELR: with the feature off, snapshots leave out the ELR that the log keeps. */
class SnapshotDropsElrTest {
    @Test
    void snapshotDropsElr() throws Exception {
        // PartitionRegistration: with ELR off a partition is written into a snapshot without its ELR and last known leader, and so is read again
        assertTrue(BrokerDriver.answers().get("snapshot-without-elr-drops-it"));
    }
}
