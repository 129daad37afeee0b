package org.apache.kafka.server;

import java.lang.reflect.Constructor;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Supplier;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.BrokerRegistrationRequestData.ListenerCollection;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.queue.KafkaEventQueue;
import org.apache.kafka.server.common.NodeToControllerChannelManager;
import scala.Function0;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/** The class of releases before 4.3, under the name and with the constructor that it has since. */
final class BrokerLifecycleManager {
    private final kafka.server.BrokerLifecycleManager manager;

    BrokerLifecycleManager(
        KafkaConfig config, Time time, String prefix, Map<String, Uuid> directories, Runnable stop, Supplier<Boolean> no
    ) throws ReflectiveOperationException {
        Object ids = CollectionConverters.asScala(directories.values()).toSet();
        Function0<BoxedUnit> hook = () -> {
            stop.run();
            return BoxedUnit.UNIT;
        };
        Constructor<?> made = kafka.server.BrokerLifecycleManager.class.getConstructors()[0];
        boolean migrates = made.getParameterCount() == 6;  // 4.0 says whether it comes from ZooKeeper
        manager = (kafka.server.BrokerLifecycleManager) (migrates
            ? made.newInstance(config, time, prefix, no.get(), ids, hook)
            : made.newInstance(config, time, prefix, ids, hook));
    }

    void start(
        Supplier<Long> offset, NodeToControllerChannelManager controller, String cluster, ListenerCollection listeners,
        Map<String, VersionRange> features, OptionalLong epoch
    ) {
        manager.start(offset::get, controller, cluster, listeners, features, epoch);
    }

    void propagateDirectoryFailure(Uuid directory, long timeout) {
        manager.propagateDirectoryFailure(directory, timeout);
    }

    KafkaEventQueue eventQueue() {
        return manager.eventQueue();
    }

    void close() {
        manager.close();
    }
}
