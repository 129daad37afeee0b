package org.apache.kafka.server;

import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.BrokerHeartbeatResponseData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData.ListenerCollection;
import org.apache.kafka.common.message.BrokerRegistrationResponseData;
import org.apache.kafka.common.requests.BrokerHeartbeatRequest;
import org.apache.kafka.common.requests.BrokerHeartbeatResponse;
import org.apache.kafka.common.requests.BrokerRegistrationResponse;

/** Directories that fail, their timer, and the heartbeats that report them: `BrokerLifecycleManager`. */
final class Heartbeats {
    static final Uuid FIRST = new Uuid(7, 1);
    static final Uuid SECOND = new Uuid(7, 2);
    private static final long TIMEOUT = TimeUnit.SECONDS.toMillis(30);

    private final Controller controller = new Controller();
    private final Controller.Clock clock = new Controller.Clock();
    private final BrokerLifecycleManager manager;
    private volatile boolean stopped = false;

    private Heartbeats() throws Exception {
        manager = new BrokerLifecycleManager(config("/first,/second"), clock, "driver-",
            Map.of("/first", FIRST, "/second", SECOND), () -> stopped = true, () -> false);
        manager.start(() -> 1L, controller, "cluster", new ListenerCollection(), Map.of(), OptionalLong.empty());
        controller.next().reply(new BrokerRegistrationResponse(new BrokerRegistrationResponseData().setBrokerEpoch(7)));
    }

    static KafkaConfig config(String directories) {
        return new KafkaConfig(Map.of("process.roles", "broker", "node.id", "1", "log.dirs", directories,
            "controller.quorum.voters", "2@localhost:9093", "controller.listener.names", "CONTROLLER",
            "listeners", "PLAINTEXT://localhost:9092",
            "listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"), false);
    }

    static void run() throws Exception {
        unreported();
        whileInFlight();
        secondInFlight();
        second();
    }

    /** The case that shows that the timer works: no answer follows the failure. */
    private static void unreported() throws Exception {
        Heartbeats broker = new Heartbeats();
        broker.answer(broker.controller.next());
        broker.fail(FIRST);
        BrokerDriver.require(reported(broker.controller.next()).equals(List.of(FIRST)), "the failure is reported");
        broker.pass(TIMEOUT + 1);
        BrokerDriver.show("unreported-failure-stops-broker", broker.stopped);
        broker.manager.close();
    }

    /** The only heartbeat that is ever answered was sent before the directory failed. */
    private static void whileInFlight() throws Exception {
        Heartbeats broker = new Heartbeats();
        Controller.Sent before = broker.controller.next();
        broker.fail(FIRST);
        BrokerDriver.require(reported(before).isEmpty(), "the first heartbeat reports nothing");
        broker.answer(before);
        BrokerDriver.require(reported(broker.controller.next()).equals(List.of(FIRST)), "the next one reports it");
        broker.pass(TIMEOUT + 1);
        BrokerDriver.show("failure-in-flight-counts-as-reported", !broker.stopped);
        broker.manager.close();
    }

    /** The only report that is ever answered was sent before a second directory failed. */
    private static void secondInFlight() throws Exception {
        Heartbeats broker = new Heartbeats();
        broker.answer(broker.controller.next());
        broker.fail(FIRST);
        Controller.Sent before = broker.controller.next();
        broker.fail(SECOND);
        BrokerDriver.require(reported(before).equals(List.of(FIRST)), "the report is of the first");
        broker.answer(before);
        broker.pass(TIMEOUT + 1);
        BrokerDriver.show("second-failure-in-flight-counts-as-reported", !broker.stopped);
        broker.manager.close();
    }

    /** Two directories fail, 20 seconds apart, and no report is answered. */
    private static void second() throws Exception {
        Heartbeats broker = new Heartbeats();
        broker.answer(broker.controller.next());
        broker.fail(FIRST);
        broker.pass(TIMEOUT * 2 / 3);
        broker.fail(SECOND);
        broker.pass(TIMEOUT * 2 / 3);
        boolean runs = !broker.stopped;
        broker.pass(TIMEOUT * 2 / 3);
        BrokerDriver.require(broker.stopped, "the broker stops in the end");
        BrokerDriver.show("second-failure-restarts-timer", runs);
        broker.manager.close();
    }

    private static List<Uuid> reported(Controller.Sent sent) {
        return ((BrokerHeartbeatRequest) sent.request()).data().offlineLogDirs();
    }

    private void fail(Uuid directory) throws Exception {
        manager.propagateDirectoryFailure(directory, TIMEOUT);
        settle();
    }

    private void answer(Controller.Sent sent) throws Exception {
        sent.reply(new BrokerHeartbeatResponse(new BrokerHeartbeatResponseData()));
        settle();
    }

    private void pass(long milliseconds) throws Exception {
        clock.advance(milliseconds);
        settle();
    }

    /** Wait until everything that is due was done. */
    private void settle() throws Exception {
        CompletableFuture<Void> done = new CompletableFuture<>();
        manager.eventQueue().append(() -> done.complete(null));
        done.get(10, TimeUnit.SECONDS);
    }
}
