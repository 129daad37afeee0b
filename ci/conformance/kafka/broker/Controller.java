package org.apache.kafka.server;

import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.NodeApiVersions;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.ControllerRequestCompletionHandler;
import org.apache.kafka.server.common.NodeToControllerChannelManager;

/** A controller that keeps each request until a case answers it. */
final class Controller implements NodeToControllerChannelManager {
    private final BlockingQueue<Sent> sent = new LinkedBlockingQueue<>();

    /** A request under way. */
    record Sent(AbstractRequest request, ControllerRequestCompletionHandler handler) {
        void reply(AbstractResponse body) {
            handler.onComplete(new ClientResponse(null, null, "controller", 0, 0, false, null, null, body));
        }

        /** The connection breaks before the answer. */
        void lose() {
            handler.onComplete(new ClientResponse(null, null, "controller", 0, 0, true, null, null, null));
        }
    }

    /** A clock that moves when it is read, a nanosecond, and when a case says so. */
    static final class Clock implements Time {
        private final AtomicLong now = new AtomicLong(TimeUnit.SECONDS.toNanos(1));

        void advance(long milliseconds) {
            now.addAndGet(TimeUnit.MILLISECONDS.toNanos(milliseconds));
        }

        @Override
        public long milliseconds() {
            return TimeUnit.NANOSECONDS.toMillis(nanoseconds());
        }

        @Override
        public long nanoseconds() {
            return now.incrementAndGet();
        }

        @Override
        public void sleep(long milliseconds) {
            throw new UnsupportedOperationException("sleep");
        }

        /** Of releases before 4.4. */
        public void waitObject(Object object, Supplier<Boolean> isSo, long deadline) {
            throw new UnsupportedOperationException("waitObject");
        }
    }

    /** The next request that was not taken yet. */
    Sent next() throws InterruptedException {
        Sent next = sent.poll(10, TimeUnit.SECONDS);
        BrokerDriver.require(next != null, "the broker sends a request");
        return next;
    }

    @Override
    public void start() { }

    @Override
    public void shutdown() { }

    @Override
    public Optional<NodeApiVersions> controllerApiVersions() {
        return Optional.empty();
    }

    @Override
    public void sendRequest(
        AbstractRequest.Builder<? extends AbstractRequest> request, ControllerRequestCompletionHandler handler
    ) {
        sent.add(new Sent(request.build(), handler));
    }

    @Override
    public long getTimeoutMs() {
        return TimeUnit.MINUTES.toMillis(1);
    }
}
