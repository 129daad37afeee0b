package org.apache.kafka.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shows a defect: JBOD: at start a future log in the assigned directory replaces the current log, however short it is. */
class ShortFutureLogTest {
    @Test
    void shortFutureLog() throws Exception {
        // LogManager: at start an empty future log in the assigned directory replaces a log of three records
        assertTrue(BrokerDriver.answers().get("start-takes-shorter-future-log"));
    }
}
