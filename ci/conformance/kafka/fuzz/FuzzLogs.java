package org.apache.kafka.controller;

import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.ControllerRegistrationRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopic;
import org.apache.kafka.common.message.ListPartitionReassignmentsRequestData.ListPartitionReassignmentsTopics;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RegisterControllerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.FinalizedControllerFeatures;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/** What managers answer after logs that no sequence writes: snapshots, old metadata versions, contradictions. */
final class FuzzLogs {
    private static final short OLDEST = 7; // the level of 3.3-IV3, the oldest that 4.0 and later read
    private static final short NEWEST = MetadataVersion.latestProduction().featureLevel();
    private static final String LEVEL = FuzzVersions.OWN + "log of level ";
    private static final int FIRST = 93;
    private static final long EPOCH = 1000;
    private static final int FULL = Short.MAX_VALUE;
    private static final int AT_ONCE = 2;

    private final FuzzBeside beside;
    private final FuzzDriver.Controller controller;

    FuzzLogs(FuzzBeside beside, FuzzDriver.Controller controller) {
        this.beside = beside;
        this.controller = controller;
    }

    void ask(List<ApiMessage> snapshot) throws ReflectiveOperationException {
        beside.ask("log of a snapshot", () -> read(snapshot));
        for (short level = OLDEST; level <= NEWEST; level++) askLevel(level);
        askContradictions();
        askCompleted();
        askFull();
        askElections();
        askMoves();
        if (controller.topics.isEmpty() && beside.registrations().isEmpty()) askMany();
    }

    /** The managers of a controller whose metadata version is the newest, unless the log says another. */
    private ControlManagers after(List<ApiMessage> log) throws ReflectiveOperationException {
        ControlManagers managers = new ControlManagers(
            controller.clock, controller.supported, new StripedReplicaPlacer(new FuzzDriver.Stream()),
            new ControlManagers.Settings() {
                @Override
                public void of(ReplicationControlManager.Builder replication) {
                    replication.setMaxElectionsPerImbalance(AT_ONCE);
                }
            });
        managers.replay(version(NEWEST), 0);
        log.forEach(record -> managers.replay(record, EPOCH));
        managers.cluster.activate();
        return managers;
    }

    private static ApiMessage version(short level) {
        return new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME).setFeatureLevel(level);
    }

    private static ApiMessage config(ConfigResource.Type type, String name, String key, String value) {
        return new ConfigRecord().setResourceType(type.id()).setResourceName(name).setName(key).setValue(value);
    }

    /** The state after a snapshot, and after a record of each of its partitions that says something else. */
    private String read(List<ApiMessage> snapshot) throws Exception {
        ControlManagers managers = after(snapshot);
        String first = state(managers);
        for (ApiMessage record : snapshot) {
            if (record instanceof PartitionRecord) managers.replay(another((PartitionRecord) record, managers), EPOCH);
        }
        return first + " then " + state(managers);
    }

    private static ApiMessage another(PartitionRecord record, ControlManagers managers) {
        boolean moves = !record.addingReplicas().isEmpty() || !record.removingReplicas().isEmpty();
        List<Uuid> directories = new ArrayList<>();
        for (int i = 0; i < record.replicas().size(); i++) {
            BrokerRegistration broker = managers.cluster.registration(record.replicas().get(i));
            Uuid present = record.directories().get(i);
            directories.add(broker == null ? present : broker.directories().stream()
                .filter(one -> !one.equals(present)).findFirst().orElse(present));
        }
        return record.duplicate().setDirectories(directories).setAddingReplicas(List.of())
            .setRemovingReplicas(moves ? List.of() : record.replicas().subList(0, 1))
            .setLeader(record.partitionId() % 2 == 0 ? -1 : record.leader());
    }

    private String state(ControlManagers managers) throws Exception {
        StringBuilder text = new StringBuilder()
            .append(FuzzRequests.list(new String[] {"list", "all"}, managers.replication).reply)
            .append(' ').append(managers.replication.areSomePartitionsLeaderless())
            .append(' ').append(FuzzRecords.image(managers.replication, controller.topics));
        for (int id : new TreeSet<>(managers.cluster.brokerRegistrations().keySet())) {
            BrokerRegistration broker = managers.cluster.registration(id);
            for (Uuid directory : broker.directories()) {
                List<ApiMessageAndVersion> records = new ArrayList<>();
                FuzzBeside.call(
                    managers.replication, "handleDirectoriesOffline", id, broker.epoch(), List.of(directory), records);
                text.append(" without ").append(FuzzRequests.number(directory)).append(' ');
                text.append(changes(records).stream().map(one ->
                    controller.topics.indexOf(one.topicId()) + "-" + one.partitionId()).sorted().toList());
            }
        }
        return text.toString();
    }

    /** Of records those that change a partition: of what else they say a rule is. */
    private static List<PartitionChangeRecord> changes(List<ApiMessageAndVersion> records) {
        return records.stream().map(ApiMessageAndVersion::message).filter(PartitionChangeRecord.class::isInstance)
            .map(PartitionChangeRecord.class::cast).toList();
    }

    private static List<Integer> leaders(FuzzDriver.Decision decision) {
        return changes(decision.records).stream().map(PartitionChangeRecord::leader).toList();
    }

    /** At a metadata version: shrunk and grown ISRs, directories, and what is set of a broker already. */
    private void askLevel(short level) throws ReflectiveOperationException {
        List<ApiMessage> log = new ArrayList<>(List.of(version(level)));
        controller.log.stream().filter(record -> !(record instanceof FeatureLevelRecord)).forEach(log::add);
        log.add(config(ConfigResource.Type.BROKER, "1", "cordoned.log.dirs", "d1,d2"));
        log.add(config(ConfigResource.Type.BROKER, "1", ControlManagers.MIN_ISR, "2"));
        log.add(broker(FIRST, 5000).setLogDirs(List.of()));
        if (level == NEWEST && controller.supported.containsKey(FuzzDriver.ELR_FEATURE)) {
            log.add(new FeatureLevelRecord().setName(FuzzDriver.ELR_FEATURE).setFeatureLevel((short) 1));
        }
        ControlManagers managers = after(log);
        for (int id : new TreeSet<>(managers.cluster.brokerRegistrations().keySet())) {
            beside.ask(LEVEL + level + ": defaultDir " + id, () ->
                FuzzBeside.call(managers.cluster, "defaultDir", id));
        }
        for (int number = 0; number < controller.topics.size(); number++) {
            var topic = managers.replication.getTopic(controller.topics.get(number));
            for (int index = 0; topic != null && index < topic.numPartitions(Long.MAX_VALUE); index++) {
                PartitionRegistration one = managers.replication.getPartition(controller.topics.get(number), index);
                boolean asked = one.leader >= 0 && level < NEWEST;
                for (int[] isr : asked ? new int[][] {{one.leader}, one.replicas} : new int[][] {}) {
                    String[] words = proposal(managers, number, index, one, isr);
                    beside.ask(LEVEL + level + ": " + String.join(" ", words), () ->
                        leaders(FuzzRequests.alter(words, managers.replication, controller.topics)));
                }
            }
        }
        askAtLevel(LEVEL + level + ": ", level, managers);
        ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, "1");
        for (String cordoned : List.of("d1", "d3")) {
            var change = Map.of("cordoned.log.dirs", new SimpleImmutableEntry<>(OpType.SET, cordoned));
            beside.ask(LEVEL + level + ": incrementalAlterConfigs " + cordoned, () ->
                FuzzBeside.gained(managers.configs, "incrementalAlterConfigs", Map.of(broker, change)));
        }
        for (Map<String, String> whole : List.of(Map.<String, String>of(), Map.of("cordoned.log.dirs", "d1"))) {
            beside.ask(LEVEL + level + ": legacyAlterConfigs " + whole, () ->
                FuzzBeside.gained(managers.configs, "legacyAlterConfigs", Map.of(broker, whole)));
        }
    }

    /** What a metadata version lets brokers, controllers and an operator ask for. */
    private void askAtLevel(String head, short level, ControlManagers managers) {
        FinalizedControllerFeatures finalized = new FinalizedControllerFeatures(
            managers.features.finalizedFeatures(Long.MAX_VALUE).featureMap(), EPOCH);
        for (int directories = 0; directories < 3; directories++) {
            BrokerRegistrationRequestData request = FuzzBeside.newBroker(controller, (short) 0, (short) 99)
                .setLogDirs(IntStream.range(0, directories).mapToObj(n -> new Uuid(0, 4800 + n)).toList());
            if (directories == 2) request.features().clear();
            beside.ask(head + "registerBroker " + directories, () ->
                texts(TourRelease.register(managers.cluster, request, EPOCH, finalized, true)));
        }
        for (int id : managers.cluster.brokerRegistrations().keySet().stream().sorted().limit(2).toList()) {
            BrokerRegistration broker = managers.cluster.registration(id);
            List<Uuid> failed = broker.directories().stream().limit(1).toList();
            for (boolean offline : new boolean[] {true, false}) {
                BrokerHeartbeatRequestData request = new BrokerHeartbeatRequestData().setBrokerId(id)
                    .setBrokerEpoch(broker.epoch()).setCurrentMetadataOffset(EPOCH);
                beside.ask(head + "heartbeat of " + id + " " + offline, () -> {
                    if (offline) request.setOfflineLogDirs(failed);
                    else ControlManagers.set(request, "setCordonedLogDirs", List.class, failed);
                    return texts(managers.replication.processBrokerHeartbeat(request, 0));
                });
            }
            if (!controller.topics.isEmpty()) {
                String[] words = {"assign", String.valueOf(id), String.valueOf(broker.epoch()), "5000/0/0"};
                beside.ask(head + String.join(" ", words), () -> {
                    FuzzDriver.Decision decision = FuzzRequests.assign(words, managers.replication, controller.topics);
                    return decision.reply + " " + beside.text(decision.records);
                });
            }
        }
        beside.ask(head + "registerController", () -> FuzzBeside.call(managers.cluster, "registerController",
            new ControllerRegistrationRequestData().setControllerId(3).setIncarnationId(new Uuid(0, 3))));
        beside.ask(head + "unregisterController", () -> FuzzBeside.call(managers.cluster, "unregisterController", 3));
        CreateTopicsRequestData created = new CreateTopicsRequestData();
        created.topics().add(new CreatableTopic().setName("new").setNumPartitions(2).setReplicationFactor((short) 1));
        beside.ask(head + "createTopics", () -> texts((ControllerResult<?>) FuzzBeside.gained(managers.replication,
            "createTopics", beside.context(ApiKeys.CREATE_TOPICS), created, Set.of("new"))));
        for (int other = level - 2; other <= level + 1; other++) {
            askUpdate(head, managers, MetadataVersion.FEATURE_NAME, other);
        }
        askUpdate(head, managers, FuzzDriver.ELR_FEATURE, 1);
        for (int other : new int[] {OLDEST, level - 1, NEWEST}) { // of two that one depends on the other
            Map<String, Short> both = FuzzBeside.map(FuzzDriver.ELR_FEATURE, (short) 1, MetadataVersion.FEATURE_NAME, (short) other);
            for (UpgradeType kind : UpgradeType.values()) {
                beside.ask(head + "updateFeatures " + both + " " + kind, () -> FuzzBeside.gained(managers.features,
                    "updateFeatures", both, FuzzBeside.map(FuzzDriver.ELR_FEATURE, UpgradeType.UPGRADE,
                        MetadataVersion.FEATURE_NAME, kind)));
            }
        }
    }

    /** The records of an answer; its partitions come in the order of their hashes. */
    private List<String> texts(ControllerResult<?> result) {
        return result.records().stream().map(one -> beside.named(beside.text(one))).sorted().toList();
    }

    private void askUpdate(String head, ControlManagers managers, String feature, int level) {
        for (UpgradeType kind : UpgradeType.values()) {
            beside.ask(head + "updateFeatures " + feature + " " + level + " " + kind, () -> FuzzBeside.gained(
                managers.features, "updateFeatures", Map.of(feature, (short) level), Map.of(feature, kind)));
        }
    }

    /** The words of a leader that proposes an ISR. */
    private static String[] proposal(
            ControlManagers managers, int topic, int index, PartitionRegistration one, int... isr) {
        List<String> members = new ArrayList<>();
        for (int id : isr) members.add(id + ":-1");
        long epoch = managers.cluster.registration(one.leader).epoch();
        String row = topic + "/" + index + "/" + one.leaderEpoch + "/" + one.partitionEpoch + "/"
            + one.leaderRecoveryState.value() + "/" + String.join(",", members);
        return new String[] {"alter", String.valueOf(one.leader), String.valueOf(epoch), row};
    }

    private static RegisterBrokerRecord broker(int id, int directory) {
        return new RegisterBrokerRecord().setBrokerId(id).setBrokerEpoch(EPOCH).setFenced(false)
            .setIncarnationId(new Uuid(0, id)).setLogDirs(List.of(new Uuid(0, directory)));
    }

    private static PartitionRecord partition(Uuid topic, List<Integer> replicas) {
        return new PartitionRecord().setTopicId(topic).setPartitionId(0).setReplicas(replicas)
            .setIsr(replicas.subList(0, 1)).setLeader(replicas.get(0));
    }

    /** Records that no log has are refused as they are replayed. */
    private void askContradictions() throws ReflectiveOperationException {
        Uuid topic = new Uuid(0, 4714);
        ControlManagers managers = after(List.of(broker(FIRST, 5000), new RegisterControllerRecord().setControllerId(3),
            new TopicRecord().setTopicId(topic).setName("two")));
        for (ApiMessage record : List.of(broker(FIRST + 1, 5000),
                partition(topic, List.of(FIRST, FIRST + 1)).setDirectories(List.of(new Uuid(0, 5000))))) {
            beside.ask("log that contradicts itself by " + record, () -> managers.replay(record, EPOCH));
        }
        for (int id : new int[] {4, 3}) {
            beside.ask("log without controller " + id, () -> {
                Class<?> type = Class.forName("org.apache.kafka.common.metadata.UnregisterControllerRecord");
                Object record = type.getConstructor().newInstance();
                ControlManagers.set(record, "setControllerId", int.class, id);
                return ClusterControlManager.class.getDeclaredMethod("replay", type).invoke(managers.cluster, record);
            });
        }
    }

    /** A leader that leaves takes the replica that is added, whose directory has failed, into the ISR. */
    private void askCompleted() throws ReflectiveOperationException {
        Uuid topic = new Uuid(0, 4715);
        for (String unclean : List.of("true", "false")) {
            ControlManagers managers = after(List.of(
                broker(FIRST, 5000), broker(FIRST + 1, 5001), broker(FIRST + 2, 5002),
                new TopicRecord().setTopicId(topic).setName("moved"),
                config(ConfigResource.Type.TOPIC, "moved", ControlManagers.UNCLEAN, unclean),
                partition(topic, List.of(FIRST, FIRST + 1, FIRST + 2)).setRemovingReplicas(List.of(FIRST))
                    .setAddingReplicas(List.of(FIRST + 1))
                    .setDirectories(List.of(new Uuid(0, 5000), DirectoryId.LOST, new Uuid(0, 5002)))));
            PartitionRegistration one = managers.replication.getPartition(topic, 0);
            beside.ask("log of a leader that leaves, unclean " + unclean, () -> leaders(FuzzRequests.alter(
                proposal(managers, 0, 0, one, FIRST, FIRST + 1), managers.replication, List.of(topic))));
        }
    }

    /** A partition with as many replicas as a number of them can be, or one more, whose topic grows. */
    private void askFull() throws ReflectiveOperationException {
        for (int count : new int[] {FULL, FULL + 1}) {
            Uuid topic = new Uuid(0, 4716);
            List<Integer> replicas = new ArrayList<>();
            for (int id = 0; id < count; id++) replicas.add(id);
            ControlManagers managers = after(List.of(
                new TopicRecord().setTopicId(topic).setName("full"), partition(topic, replicas)));
            beside.ask("log of a partition with replicas " + count, () ->
                FuzzRequests.grow(new String[] {"grow", "full", "2", "-"}, managers.replication).reply);
        }
    }

    /** Several partitions of several topics are being reassigned, and are listed all or by name. */
    private void askMoves() throws ReflectiveOperationException {
        List<ApiMessage> log = new ArrayList<>(List.of(broker(FIRST, 5000), broker(FIRST + 1, 5001)));
        List<ListPartitionReassignmentsTopics> named = new ArrayList<>();
        for (int number = 0; number < 3; number++) {
            Uuid topic = new Uuid(0, 4720 + number);
            log.add(new TopicRecord().setTopicId(topic).setName("moved" + number));
            for (int index = 0; index < 3; index++) {
                log.add(partition(topic, List.of(FIRST, FIRST + 1)).setPartitionId(index).setAddingReplicas(List.of(FIRST + 1)));
            }
            named.add(new ListPartitionReassignmentsTopics().setName("moved" + number).setPartitionIndexes(List.of(0, 2, 9)));
        }
        ControlManagers managers = after(log);
        for (int count = 0; count <= named.size(); count++) {
            List<ListPartitionReassignmentsTopics> asked = count == 0 ? null : named.subList(0, count);
            beside.ask("log of moves, of topics " + count, () -> managers.replication.listPartitionReassignments(
                asked, Long.MAX_VALUE).topics().stream().map(String::valueOf).sorted().toList());
        }
    }

    /** As many leaders are elected, and as many partitions reassigned, as one request may write records, or one more. */
    private void askMany() throws ReflectiveOperationException {
        Uuid topic = new Uuid(0, 4730);
        List<ApiMessage> log = new ArrayList<>(List.of(
            broker(FIRST, 5000), broker(FIRST + 1, 5001), new TopicRecord().setTopicId(topic).setName("many")));
        List<String> rows = new ArrayList<>();
        for (int index = 0; index <= 10_000; index++) {
            rows.add("many/" + index + "/" + (FIRST + 1));
            log.add(partition(topic, List.of(FIRST, FIRST + 1)).setPartitionId(index).setLeader(FIRST + 1)
                .setIsr(List.of(FIRST, FIRST + 1)));
            if (index < 9_999) continue;
            ControlManagers managers = after(log);
            String moved = String.join(";", rows);
            beside.ask("log of many elections " + index, () ->
                FuzzRequests.elect(new String[] {"elect", "0", "all"}, managers.replication).records.size());
            beside.ask("log of many reassignments " + index, () ->
                FuzzRequests.reassign(new String[] {"reassign", moved, "-"}, managers.replication).records.size());
        }
    }

    /** Of one leader more than may be elected at once, each round elects as many as may be. */
    private void askElections() throws ReflectiveOperationException {
        Uuid topic = new Uuid(0, 4717);
        List<ApiMessage> log = new ArrayList<>(List.of(broker(FIRST, 5000),
            new TopicRecord().setTopicId(topic).setName("led"),
            config(ConfigResource.Type.TOPIC, "led", ControlManagers.UNCLEAN, "true")));
        for (int index = 0; index <= AT_ONCE; index++) {
            log.add(partition(topic, List.of(FIRST + 1, FIRST)).setPartitionId(index).setLeader(-1));
        }
        ControlManagers managers = after(log);
        for (int round = 0; round < 2; round++) {
            beside.ask("log of leaders to elect, round " + round, () -> {
                ControllerResult<Boolean> result = managers.replication.maybeElectUncleanLeaders();
                result.records().forEach(record -> managers.replay(record.message(), EPOCH));
                return result.records().size() + " " + result.response();
            });
        }
    }
}
