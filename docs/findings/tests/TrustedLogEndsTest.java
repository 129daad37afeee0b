package org.apache.kafka.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shows a defect: A leader that leads again trusts log ends of followers from its earlier term, although they have cut their logs. */
class TrustedLogEndsTest {
    @Test
    void trustedLogEnds() throws Exception {
        // Partition: who leads again, unaware of another leader, keeps log ends of its earlier term
        assertTrue(BrokerDriver.answers().get("reelected-leader-keeps-ends"));
    }
}
