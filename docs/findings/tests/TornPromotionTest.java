package org.apache.kafka.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shows a defect: JBOD: a disk that fails as a move ends leaves two logs, and the broker never starts again. */
class TornPromotionTest {
    @Test
    void tornPromotion() throws Exception {
        // LogManager: where the source fails between the two renames that end a move, the next start with it ends with two logs
        assertTrue(BrokerDriver.answers().get("two-logs-stop-start"));
    }
}
