package org.apache.kafka.controller;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopic;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RegisterControllerRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.server.common.MetadataVersion;

/** What managers answer for which an operator has set the properties of the servers, after the log of others. */
final class FuzzSettings implements ControlManagers.Settings, ClusterFeatureSupportDescriber {
    private static final int NODE = 5;
    private static final long SESSION = 18_000;
    private static final int FIRST = 90;

    private final FuzzBeside beside;
    private final FuzzDriver.Controller controller;
    private final TourDriver.Clock clock = new TourDriver.Clock();
    private ControlManagers managers;

    FuzzSettings(FuzzBeside beside, FuzzDriver.Controller controller) {
        this.beside = beside;
        this.controller = controller;
    }

    @Override
    public void of(FeatureControlManager.Builder features) {
        features.setClusterFeatureSupportDescriber(this);
    }

    @Override
    public void of(ClusterControlManager.Builder cluster) {
        cluster.setSessionTimeoutNs(TimeUnit.MILLISECONDS.toNanos(SESSION));
    }

    @Override
    public void of(ConfigurationControlManager.Builder configs) {
        configs.setNodeId(NODE).setStaticConfig(Map.of(
            ControlManagers.MIN_ISR, "2", ControlManagers.UNCLEAN, "true", "log.retention.hours", "1"));
    }

    @Override
    public void of(ReplicationControlManager.Builder replication) {
        replication.setDefaultReplicationFactor((short) 2).setDefaultNumPartitions(3);
    }

    @Override
    public Iterator<Map.Entry<Integer, Map<String, VersionRange>>> brokerSupported() {
        return managers.cluster.brokerSupportedFeatures();
    }

    @Override
    public Iterator<Map.Entry<Integer, Map<String, VersionRange>>> controllerSupported() {
        return managers.cluster.controllerSupportedFeatures();
    }

    void ask(List<String> names) {
        clock.sleep(-2_000_000);  // Java's nanoseconds may be less than none
        beside.ask("set up", () -> {
            managers = new ControlManagers(
                clock, controller.supported, new StripedReplicaPlacer(new FuzzDriver.Stream()), this);
            controller.replayLog(managers);
            managers.cluster.activate();
            return managers.cluster.brokerRegistrations().size();
        });
        askConfigs(names);
        askSessions();
        askFeatures("all");
        for (int rack = 0; rack < 4; rack++) {
            RegisterBrokerRecord broker = new RegisterBrokerRecord().setBrokerId(FIRST + rack).setBrokerEpoch(FIRST)
                .setFenced(false).setRack("rack" + rack).setIncarnationId(new Uuid(0, FIRST + rack))
                .setLogDirs(List.of(new Uuid(0, 5000 + rack)));
            beside.ask("set broker " + broker.brokerId(), () -> managers.replay(broker, controller.nextOffset()));
        }
        askFeatures("brokers that support none");
        askDefaults();
        for (int id = FIRST; id < FIRST + 4; id++) {
            UnregisterBrokerRecord broker = new UnregisterBrokerRecord().setBrokerId(id).setBrokerEpoch(FIRST);
            beside.ask("set no broker " + id, () -> managers.replay(broker, controller.nextOffset()));
        }
        managers.cluster.replay(new RegisterControllerRecord().setControllerId(3));
        askFeatures("a controller that supports none");
    }

    private void askConfigs(List<String> names) {
        List<String> asked = new ArrayList<>(names);
        asked.add("absent");
        for (String name : asked) {
            beside.ask("set getTopicConfig " + name, () ->
                FuzzBeside.call(managers.configs, "getTopicConfig", name, ControlManagers.MIN_ISR));
            beside.ask("set uncleanLeaderElectionEnabledForTopic " + name, () ->
                FuzzBeside.call(managers.configs, "uncleanLeaderElectionEnabledForTopic", name));
        }
        managers.configs.replay(new ConfigRecord().setResourceType(ConfigResource.Type.BROKER.id())
            .setResourceName(String.valueOf(NODE)).setName(ControlManagers.MIN_ISR).setValue("4"));
        for (String method : List.of("clusterConfig", "currentControllerConfig", "getStaticallyConfiguredMinInsyncReplicas")) {
            beside.ask("set " + method, () -> FuzzBeside.call(managers.configs, method));
        }
        for (Map<String, Object> given : List.of(Map.<String, Object>of(), Map.<String, Object>of(ControlManagers.MIN_ISR, "3"))) {
            beside.ask("set computeEffectiveTopicConfigs " + given, () ->
                FuzzBeside.call(managers.configs, "computeEffectiveTopicConfigs", given));
        }
    }

    /** Brokers are silent for less than a session, then for more; what follows of the ISR is by the min ISR that is set. */
    private void askSessions() {
        beside.ask("set session begins", () -> {
            for (int id : managers.cluster.brokerRegistrations().keySet()) {
                TourRelease.contact(managers.cluster, id, managers.cluster.registration(id).epoch());
            }
            return "";
        });
        for (long more : new long[] {SESSION - 1000, 2000}) {
            beside.ask("set silence " + more, () -> {
                clock.sleep(more);
                List<Object> fenced = new ArrayList<>();
                for (int round = 0; round < 3; round++) {
                    ControllerResult<?> result = managers.replication.maybeFenceOneStaleBroker();
                    fenced.add(Set.copyOf(result.records()));
                    result.records().forEach(record -> managers.replay(record.message(), controller.nextOffset()));
                }
                return fenced;
            });
        }
        beside.ask("set elections", () -> Set.copyOf(managers.replication.maybeElectUncleanLeaders().records()));
    }

    /** Updates of one feature, and of two in one request. */
    private void askFeatures(String supported) {
        String other = "transaction.version", elr = FuzzDriver.ELR_FEATURE;
        short newest = MetadataVersion.latestProduction().featureLevel();
        List<Map<String, Short>> updates = List.of(FuzzBeside.map(other, (short) 1), FuzzBeside.map(other, (short) 2),
            FuzzBeside.map(elr, (short) 1), FuzzBeside.map(other, (short) 1, elr, (short) 1),
            FuzzBeside.map(elr, (short) 0, other, (short) 2), FuzzBeside.map(MetadataVersion.FEATURE_NAME, newest),
            FuzzBeside.map(MetadataVersion.FEATURE_NAME, (short) (newest - 1)), FuzzBeside.map("kraft.version", (short) 1));
        for (Map<String, Short> update : updates) {
            for (UpgradeType kind : List.of(UpgradeType.UPGRADE, UpgradeType.SAFE_DOWNGRADE)) {
                Map<String, UpgradeType> kinds = FuzzBeside.map();
                update.keySet().forEach(name -> kinds.put(name, kind));
                for (boolean only : new boolean[] {false, true}) {
                    beside.ask("set updateFeatures " + update + " " + kind + " " + supported + " " + only, () ->
                        FuzzBeside.gained(managers.features, "updateFeatures", update, kinds, only, 0));
                }
            }
        }
    }

    /** A topic that says neither how many partitions nor how many replicas, and one with a replica in each rack. */
    private void askDefaults() {
        for (int replicas : new int[] {-1, 4}) {
            CreateTopicsRequestData request = new CreateTopicsRequestData();
            request.topics().add(new CreatableTopic().setName("new").setNumPartitions(-1).setReplicationFactor((short) replicas));
            beside.ask("set createTopics " + replicas, () -> FuzzBeside.gained(managers.replication, "createTopics",
                beside.context(ApiKeys.CREATE_TOPICS), request, Set.of("new")));
        }
    }
}
