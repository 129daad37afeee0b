package org.apache.kafka.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shows a defect: Replication: a leader elected again trusts followers' log end offsets of its earlier epoch, although they have truncated. */
class TrustedLogEndsTest {
    @Test
    void trustedLogEnds() throws Exception {
        // Partition: who leads again, unaware of another leader, keeps log ends of its earlier term
        assertTrue(BrokerDriver.answers().get("reelected-leader-keeps-ends"));
    }
}
