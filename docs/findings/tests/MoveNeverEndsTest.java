package org.apache.kafka.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shows a defect: JBOD: a move of a replica between directories need not end: broker and controller contradict each other for ever. */
class MoveNeverEndsTest {
    @Test
    void moveNeverEnds() throws Exception {
        // several: a move is asked for, granted, forgotten and corrected, five times over, and is where it was
        assertTrue(BrokerDriver.answers().get("contradiction-repeats"));
        // several: so it is where the answer to each request is lost
        assertTrue(BrokerDriver.answers().get("contradiction-repeats-unanswered"));
    }
}
