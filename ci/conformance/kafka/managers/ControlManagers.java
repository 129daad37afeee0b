package org.apache.kafka.controller;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.FenceBrokerRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RegisterControllerRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metadata.UnfenceBrokerRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.KafkaConfigSchema;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.metadata.placement.ReplicaPlacer;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.timeline.SnapshotRegistry;

/** The managers of a controller, wired as QuorumController wires them, without a topic or a broker. */
final class ControlManagers {
    static final String CLUSTER = "cluster";
    static final String MIN_ISR = "min.insync.replicas";
    static final String UNCLEAN = "unclean.leader.election.enable";
    static final String LIST = "cleanup.policy";
    static final String NAME = "compression.type"; // comes before its neighbours by its hash, after one by its name
    static final String EMPTY_LIST = "leader.replication.throttled.replicas";
    static final String RETENTION = "retention.ms"; // has synonyms in hours and in minutes
    static final String SECRET = "secret";

    final SnapshotRegistry snapshots;
    final FeatureControlManager features;
    final ClusterControlManager cluster;
    final ConfigurationControlManager configs;
    final ReplicationControlManager replication;

    /** A timer may elect as many leaders as the release's own. */
    ControlManagers(Time clock, Map<String, VersionRange> supported, ReplicaPlacer placer)
            throws ReflectiveOperationException {
        this(clock, supported, placer, new Settings() { });
    }

    /** What an operator sets. */
    interface Settings {
        default void of(FeatureControlManager.Builder features) { }

        default void of(ClusterControlManager.Builder cluster) { }

        default void of(ConfigurationControlManager.Builder configs) throws ReflectiveOperationException { }

        default void of(ReplicationControlManager.Builder replication) { }
    }

    /** The placer is null where the release's own is to place replicas. */
    ControlManagers(Time clock, Map<String, VersionRange> supported, ReplicaPlacer placer, Settings settings)
            throws ReflectiveOperationException {
        snapshots = registry();
        FeatureControlManager.Builder ofFeatures = new FeatureControlManager.Builder()
            .setSnapshotRegistry(snapshots)
            .setQuorumFeatures(new QuorumFeatures(0, supported, List.of(0)));
        settings.of(ofFeatures);
        features = ofFeatures.build();
        ClusterControlManager.Builder ofCluster = new ClusterControlManager.Builder()
            .setSnapshotRegistry(snapshots)
            .setClusterId(CLUSTER)
            .setTime(clock)
            .setReplicaPlacer(placer)
            .setFeatureControlManager(features);
        TourRelease.onShutdown(ofCluster, this::replication);
        settings.of(ofCluster);
        cluster = ofCluster.build();
        ConfigurationControlManager.Builder ofConfigs = new ConfigurationControlManager.Builder()
            .setSnapshotRegistry(snapshots)
            .setKafkaConfigSchema(schema());
        TourRelease.withFeatures(ofConfigs, features);
        settings.of(ofConfigs);
        configs = ofConfigs.build();
        ReplicationControlManager.Builder ofReplication = new ReplicationControlManager.Builder()
            .setSnapshotRegistry(snapshots)
            .setConfigurationControl(configs)
            .setClusterControl(cluster)
            .setFeatureControl(features);
        settings.of(ofReplication);
        replication = ofReplication.build();
    }

    private static SnapshotRegistry registry() throws ReflectiveOperationException {
        for (Constructor<?> made : SnapshotRegistry.class.getConstructors()) {
            if (made.getParameterCount() == 1) {
                return (SnapshotRegistry) made.newInstance(made.getParameterTypes()[0].getConstructor().newInstance());
            }
        }
        throw new NoSuchMethodException("a constructor of SnapshotRegistry with one parameter");
    }

    private static KafkaConfigSchema schema() {
        ConfigDef known = new ConfigDef()
            .define(MIN_ISR, ConfigDef.Type.INT, 1, ConfigDef.Importance.HIGH, "")
            .define(UNCLEAN, ConfigDef.Type.BOOLEAN, false, ConfigDef.Importance.HIGH, "")
            .define(LIST, ConfigDef.Type.LIST, "b", ConfigDef.Importance.HIGH, "")
            .define(NAME, ConfigDef.Type.STRING, "c", ConfigDef.Importance.HIGH, "")
            .define(EMPTY_LIST, ConfigDef.Type.LIST, null, ConfigDef.Importance.HIGH, "")
            .define(RETENTION, ConfigDef.Type.LONG, 7L, ConfigDef.Importance.HIGH, "")
            .define(SECRET, ConfigDef.Type.PASSWORD, null, ConfigDef.Importance.HIGH, "")
            .defineInternal("internal", ConfigDef.Type.INT, 1, ConfigDef.Importance.LOW);
        return new KafkaConfigSchema(
            Map.of(ConfigResource.Type.TOPIC, known, ConfigResource.Type.BROKER, known),
            ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS);
    }

    ReplicationControlManager replication() {
        return replication;
    }

    /** Replays one record, and says whether it is one that empties ELRs. */
    boolean replay(ApiMessage record, long offset) {
        if (record instanceof PartitionChangeRecord) replication.replay((PartitionChangeRecord) record);
        else if (record instanceof BrokerRegistrationChangeRecord)
            cluster.replay((BrokerRegistrationChangeRecord) record);
        else if (record instanceof RegisterBrokerRecord) cluster.replay((RegisterBrokerRecord) record, offset);
        else if (record instanceof UnregisterBrokerRecord) cluster.replay((UnregisterBrokerRecord) record);
        else if (record instanceof FenceBrokerRecord) cluster.replay((FenceBrokerRecord) record);
        else if (record instanceof UnfenceBrokerRecord) cluster.replay((UnfenceBrokerRecord) record);
        else if (record instanceof TopicRecord) replication.replay((TopicRecord) record);
        else if (record instanceof PartitionRecord) replication.replay((PartitionRecord) record);
        else if (record instanceof RemoveTopicRecord) replication.replay((RemoveTopicRecord) record);
        else if (record instanceof ConfigRecord) configs.replay((ConfigRecord) record);
        else if (record instanceof FeatureLevelRecord) features.replay((FeatureLevelRecord) record);
        else if (record instanceof RegisterControllerRecord) cluster.replay((RegisterControllerRecord) record);
        else if (TourRelease.clearsElr(replication, record)) return true;
        else throw new IllegalStateException("no manager for " + record);
        return false;
    }

    /** Sets a field of a request that older releases do not have; they are not asked to. */
    static void set(Object request, String setter, Class<?> type, Object value) throws ReflectiveOperationException {
        request.getClass().getMethod(setter, type).invoke(request, value);
    }

    /** A field of a record, null where the release does not have it. */
    static Object get(Object record, String name) {
        try {
            return record.getClass().getMethod(name).invoke(record);
        } catch (NoSuchMethodException e) {
            return null;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** What methods that gained parameters over the releases take besides, in order, as the controller gives it. */
    private static final Map<String, Object[]> GAINED = Map.of(
        "createTopics", new Object[] {false},
        "incrementalAlterConfigs", new Object[] {false, false},
        "legacyAlterConfigs", new Object[] {false, false},
        "updateFeatures", new Object[] {false, 0});

    /** Calls a method that gained parameters over the releases. */
    static Object call(Object manager, String name, Object... given) throws Throwable {
        Method method = gained(manager.getClass(), name, given.length);
        if (method == null) throw new NoSuchMethodException(name);
        Object[] arguments = Arrays.copyOf(given, method.getParameterCount());
        for (int i = given.length; i < arguments.length; i++) arguments[i] = GAINED.get(name)[i - given.length];
        try {
            return method.invoke(manager, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    /** The method, the types of whose further parameters are those that are known; null where a release has none. */
    private static Method gained(Class<?> manager, String name, int given) {
        for (Method method : manager.getDeclaredMethods()) {
            if (!method.getName().equals(name) || method.getParameterCount() < given) continue;
            for (int i = given; i < method.getParameterCount(); i++) {
                int at = i - given;
                Class<?> type = method.getParameterTypes()[i];
                boolean known = at < GAINED.get(name).length
                    && type == (GAINED.get(name)[at] instanceof Boolean ? boolean.class : int.class);
                if (!known) throw new IllegalArgumentException(manager.getSimpleName() + "." + name
                    + " takes what no driver knows to give: " + method.getParameters()[i]);
            }
            return method;
        }
        return null;
    }

    /** Refuses managers whose methods take what no driver knows to give, before one is asked anything. */
    static void check() {
        gained(ReplicationControlManager.class, "createTopics", 3);
        gained(ConfigurationControlManager.class, "incrementalAlterConfigs", 1);
        gained(ConfigurationControlManager.class, "legacyAlterConfigs", 1);
        gained(ConfigurationControlManager.class, "updateFeatures", 2);
    }
}
