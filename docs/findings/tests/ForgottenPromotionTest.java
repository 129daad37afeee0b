package org.apache.kafka.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shows a defect: JBOD: new metadata of a partition makes the broker forget that its move to another directory was accepted. */
class ForgottenPromotionTest {
    @Test
    void forgottenPromotion() throws Exception {
        // ReplicaAlterLogDirsThread: a granted move is not assigned back when its target fails, once new metadata has come
        assertTrue(BrokerDriver.answers().get("metadata-forgets-granted-move"));
    }
}
