package org.apache.kafka.controller;

import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignablePartition;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignableTopic;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.FinalizedControllerFeatures;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * Takes steps of the explored system on the controller's managers: rows of 32-bit ints in, rows of 32-bit ints out.
 *
 * Arguments: the number of brokers, of directories of each, where a step starts, and one name for each action code. A
 * row is the state before, the action and its arguments. Where the managers are not in that state, its records are
 * replayed into them first; otherwise the step goes on from the one before, unless all start from records. With
 * SNAPSHOTS a controller that starts from a snapshot takes over after each ClearElrRecord: its replay leaves the index
 * of ELR members as it was. Columns are described in tour/model.py.
 */
public final class TourDriver {
    static final int VACANT = -1;
    static final int EMPTY = -2;
    static final int KEEP_LEADER = -2;
    static final int KEEP_RECOVERY = -1;
    static final int UNASSIGNED = 1;
    static final int FIRST_LOCAL = 3;
    static final int DONE = 0;
    static final int REFUSED = 1;
    static final int RESIGNED = 2;
    static final int MOST_RECORDS = 2;
    static final int MOST_LOADS = 64;
    static final long EMPTY_MANAGERS = 0;
    static final long LOADED = 1;
    static final long FIRST_EPOCH = 100;
    static final long A_MINUTE = 60_000;
    static final String TOPIC_NAME = "foo";
    static final String BYSTANDER_NAME = "bystander";
    static final Uuid TOPIC = new Uuid(1, 1);
    static final Uuid BYSTANDER = new Uuid(1, 2);
    static final String MIN_ISR = ControlManagers.MIN_ISR;
    static final String UNCLEAN = ControlManagers.UNCLEAN;
    static final String ELR_FEATURE = "eligible.leader.replicas.version";

    private TourDriver() { }

    public static void main(String[] args) throws Exception {
        ControlManagers.check();
        int brokers = Integer.parseInt(args[0]);
        Managers managers = new Managers(brokers, Integer.parseInt(args[1]), Start.valueOf(args[2]));
        String[] actions = Arrays.copyOfRange(args, 3, args.length);
        int inputs = 3 * brokers + 13 + 4 + brokers;
        int outputs = 3 + MOST_RECORDS * (14 + 2 * brokers) + 3 * brokers + 13 + 2;
        DriverRows.each(inputs, outputs, given -> managers.step(given, actions, outputs));
    }

    /** Where a step starts: on from the one before, the same but for a snapshot after ClearElrRecords, from records. */
    enum Start { GOES_ON, SNAPSHOTS, RECORDS }

    /** Stands still but where it is told to go on. */
    static final class Clock implements Time {
        private long now = 1_000_000_000_000L;

        public long milliseconds() {
            return now / 1_000_000;
        }

        public long nanoseconds() {
            return now;
        }

        public void sleep(long ms) {
            now += ms * 1_000_000;
        }

        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) {
            throw new UnsupportedOperationException("nothing waits here");
        }
    }

    /** The topic's partition and all that bears on it, as rows hold it. */
    static final class State {
        int[] values;
        private int at = 0;

        State(int[] values) {
            this.values = values;
        }

        int next() {
            return values[at++];
        }

        int[] slots(int count) {
            int[] result = Arrays.copyOfRange(values, at, at + count);
            at += count;
            return result;
        }
    }

    /** The managers of an active controller, and how its events reach them. */
    static final class Managers {
        private final int brokers;
        private final int directories;
        private final Start start;
        private final Clock clock = new Clock();
        private final Map<String, VersionRange> supported = TourRelease.supportedFeatures();
        private ControlManagers managers;
        private SnapshotRegistry snapshots;
        private FeatureControlManager features;
        private ClusterControlManager cluster;
        private ConfigurationControlManager configs;
        private ReplicationControlManager replication;
        private int loads = 0;
        private boolean cleared = false;
        private int[] kept = {};
        private final MetadataVersion withElr = MetadataVersion.latestProduction();
        private final MetadataVersion withoutElr;
        private long offset = 1000;
        private int error;

        Managers(int brokers, int directories, Start start) throws ReflectiveOperationException {
            this.brokers = brokers;
            this.directories = directories;
            this.start = start;
            MetadataVersion last = null;
            for (MetadataVersion version : MetadataVersion.VERSIONS) {
                if (!version.isElrSupported() && version.compareTo(withElr) <= 0) last = version;
            }
            withoutElr = last;
            renew();
        }

        /** New managers, without a topic or a broker. */
        private void renew() throws ReflectiveOperationException {
            ControlManagers made = new ControlManagers(clock, supported, null);
            snapshots = made.snapshots;
            features = made.features;
            cluster = made.cluster;
            configs = made.configs;
            replication = made.replication;
            managers = made;
            TourRelease.createSnapshot(snapshots, EMPTY_MANAGERS);
        }

        /** Managers in a state, for a test that takes steps one by one. */
        static Managers in(int brokers, int directories, int... state) throws ReflectiveOperationException {
            Managers made = new Managers(brokers, directories, Start.GOES_ON);
            made.load(new State(state));
            return made;
        }

        /** One step, decided by a controller that has just become active: DONE, REFUSED or RESIGNED. */
        int act(String action, int broker, int first, int second, int... target) {
            int[] given = Arrays.copyOf(new int[0], stateWidth() + 4 + brokers);
            int[] arguments = {broker, first, second};
            System.arraycopy(arguments, 0, given, stateWidth() + 1, 3);
            Arrays.fill(given, stateWidth() + 4, given.length, VACANT);
            System.arraycopy(target, 0, given, stateWidth() + 4, target.length);
            cluster.deactivate();
            cluster.activate();
            return take(action, given, new ArrayList<>());
        }

        ReplicationControlManager replication() {
            return replication;
        }

        /** The partition as it is registered now; null once its topic is deleted. */
        PartitionRegistration partition() {
            return replication.getPartition(TOPIC, 0);
        }

        /** The online directories of a broker, as it is registered now. */
        List<Uuid> online(int broker) {
            return registration(broker).directories();
        }

        int stateWidth() {
            return 3 * brokers + 13;
        }

        int[] step(int[] given, String[] actions, int outputs) throws ReflectiveOperationException {
            int[] before = Arrays.copyOf(given, stateWidth());
            boolean goesOn = start != Start.RECORDS && Arrays.equals(before, present());
            if (start == Start.RECORDS) {
                reload(before);
            } else if (!goesOn) {
                load(new State(before));
            }
            // What only an active controller remembers is not part of the explored state: another one takes over.
            cluster.deactivate();
            cluster.activate();
            PartitionRegistration old = replication.getPartition(TOPIC, 0);
            int leaderEpoch = old.leaderEpoch;
            int partitionEpoch = old.partitionEpoch;
            int[] found = new int[outputs];
            List<PartitionChangeRecord> written = new ArrayList<>();
            error = 0;
            int status = take(actions[given[stateWidth()]], given, written);
            found[0] = status == DONE ? written.size() : -status;
            found[1] = error;
            found[2] = goesOn ? 1 : 0;
            int at = 3;
            for (int i = 0; i < MOST_RECORDS; i++) {
                at = write(i < written.size() ? written.get(i) : new PartitionChangeRecord(), found, at);
            }
            int[] after = present();
            System.arraycopy(after, 0, found, at, after.length);
            PartitionRegistration now = replication.getPartition(TOPIC, 0);
            found[at + after.length] = now.leaderEpoch - leaderEpoch;
            found[at + after.length + 1] = now.partitionEpoch - partitionEpoch;
            if (cleared && start == Start.SNAPSHOTS) {
                load(new State(after));
            }
            cleared = false;
            return found;
        }

        private int take(String action, int[] given, List<PartitionChangeRecord> written) {
            try {
                List<ApiMessageAndVersion> records = decide(action, given);
                if (records == null) {
                    return error == Errors.UNKNOWN_SERVER_ERROR.code() ? RESIGNED : REFUSED;
                }
                for (ApiMessageAndVersion record : records) {
                    if (record.message() instanceof PartitionChangeRecord
                            && ((PartitionChangeRecord) record.message()).topicId().equals(TOPIC)) {
                        written.add((PartitionChangeRecord) record.message());
                    }
                }
                records.forEach(record -> replay(record.message()));
                if (replication.getPartition(BYSTANDER, 0) != null) {
                    replay(new RemoveTopicRecord().setTopicId(BYSTANDER));
                }
                return DONE;
            } catch (ApiException e) {
                error = Errors.forException(e).code();
                return REFUSED;
            } catch (Throwable e) {
                return RESIGNED;
            }
        }

        // Loading a state.

        static Uuid directory(int broker, int number) {
            return number < FIRST_LOCAL ? new Uuid(0, number) : new Uuid(7, 1000 + 10 * broker + number - FIRST_LOCAL);
        }

        static int number(Uuid directory) {
            long low = directory.getLeastSignificantBits();
            return (int) (directory.getMostSignificantBits() == 0 ? low : FIRST_LOCAL + (low - 1000) % 10);
        }

        List<Uuid> dirsOf(int broker, int mask) {
            List<Uuid> result = new ArrayList<>();
            for (int d = 0; d < directories; d++) {
                if ((mask >> d & 1) != 0) result.add(directory(broker, FIRST_LOCAL + d));
            }
            return result;
        }

        static int mask(Iterable<Integer> members) {
            int result = 0;
            for (int member : members) {
                result |= 1 << member;
            }
            return result;
        }

        static int mask(int[] members) {
            int result = 0;
            for (int member : members) {
                result |= 1 << member;
            }
            return result;
        }

        static List<Integer> list(int[] slots) {
            List<Integer> result = new ArrayList<>();
            for (int slot : slots) {
                if (slot != VACANT) result.add(slot);
            }
            return result;
        }

        /** Goes back to a state as its records made it, and replays them only where it is not the last that they made. */
        private void reload(int[] state) throws ReflectiveOperationException {
            if (Arrays.equals(state, kept)) {
                cluster.deactivate();
                snapshots.revertToSnapshot(LOADED);
                return;
            }
            load(new State(state));
            TourRelease.createSnapshot(snapshots, LOADED);
            kept = state;
        }

        private void load(State state) throws ReflectiveOperationException {
            // A snapshot remembers every collection that was made since: going back costs ever more.
            if (++loads % MOST_LOADS == 0) {
                renew();
            } else {
                cluster.deactivate();
                snapshots.revertToSnapshot(EMPTY_MANAGERS);
            }
            List<Integer> replicas = list(state.slots(brokers));
            int[] placed = state.slots(brokers);
            PartitionRecord partition = new PartitionRecord().setTopicId(TOPIC).setPartitionId(0)
                .setReplicas(replicas)
                .setIsr(inOrder(replicas, state.next()))
                .setEligibleLeaderReplicas(DriverRows.members(state.next()));
            int lastKnown = state.next();
            partition.setLastKnownElr(lastKnown == EMPTY ? List.of() : List.of(lastKnown))
                .setRemovingReplicas(DriverRows.members(state.next()))
                .setAddingReplicas(DriverRows.members(state.next()))
                .setLeader(state.next())
                .setLeaderRecoveryState((byte) state.next())
                .setLeaderEpoch(10)
                .setPartitionEpoch(20);
            List<Uuid> dirs = new ArrayList<>();
            replicas.forEach(broker -> dirs.add(directory(broker, placed[broker])));
            partition.setDirectories(dirs);
            int registered = state.next();
            int fenced = state.next();
            int shuttingDown = state.next();
            int[] online = state.slots(brokers);
            int minIsr = state.next();
            boolean unclean = state.next() != 0;
            enable(state.next() != 0);
            for (int broker : DriverRows.members(registered)) {
                replay(new RegisterBrokerRecord().setBrokerId(broker).setBrokerEpoch(FIRST_EPOCH + broker)
                    .setIncarnationId(new Uuid(3, FIRST_EPOCH + broker))
                    .setFenced((fenced >> broker & 1) != 0)
                    .setInControlledShutdown((shuttingDown >> broker & 1) != 0)
                    .setLogDirs(dirsOf(broker, online[broker])));
            }
            replay(new TopicRecord().setName(TOPIC_NAME).setTopicId(TOPIC));
            replay(partition);
            replay(config(MIN_ISR, String.valueOf(minIsr)));
            replay(config(UNCLEAN, String.valueOf(unclean)));
        }

        /** The members in the order of the replicas, as a new partition has them; others after them. */
        private static List<Integer> inOrder(List<Integer> replicas, int mask) {
            List<Integer> result = new ArrayList<>(replicas);
            result.retainAll(DriverRows.members(mask));
            DriverRows.members(mask).stream().filter(broker -> !replicas.contains(broker)).forEach(result::add);
            return result;
        }

        private void enable(boolean elr) {
            replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
                .setFeatureLevel((elr ? withElr : withoutElr).featureLevel()));
            if (elr) {
                replay(new FeatureLevelRecord().setName(ELR_FEATURE).setFeatureLevel((short) 1));
            }
        }

        private static ConfigRecord config(String key, String value) {
            return new ConfigRecord().setResourceType(ConfigResource.Type.TOPIC.id()).setResourceName(TOPIC_NAME)
                .setName(key).setValue(value);
        }

        private void replay(ApiMessage record) {
            offset++;
            cleared |= managers.replay(record, offset);
        }

        // Reading a state.

        private int[] present() {
            PartitionRegistration p = replication.getPartition(TOPIC, 0);
            if (p == null) {
                return new int[0];
            }
            int[] row = new int[stateWidth()];
            Arrays.fill(row, 0, brokers, VACANT);
            Arrays.fill(row, brokers, 2 * brokers, UNASSIGNED);
            for (int i = 0; i < p.replicas.length; i++) {
                row[i] = p.replicas[i];
                row[brokers + p.replicas[i]] = number(p.directories[i]);
            }
            int at = 2 * brokers;
            row[at++] = mask(p.isr);
            row[at++] = mask(p.elr);
            row[at++] = p.lastKnownElr.length == 0 ? EMPTY : p.lastKnownElr[0];
            row[at++] = mask(p.removingReplicas);
            row[at++] = mask(p.addingReplicas);
            row[at++] = p.leader;
            row[at++] = p.leaderRecoveryState == LeaderRecoveryState.RECOVERING ? 1 : 0;
            for (BrokerRegistration broker : cluster.brokerRegistrations().values()) {
                row[at] |= 1 << broker.id();
                row[at + 1] |= broker.fenced() ? 1 << broker.id() : 0;
                row[at + 2] |= broker.inControlledShutdown() ? 1 << broker.id() : 0;
                for (Uuid directory : broker.directories()) {
                    row[at + 3 + broker.id()] |= 1 << number(directory) - FIRST_LOCAL;
                }
            }
            at += 3 + brokers;
            row[at++] = Integer.parseInt(configs.getTopicConfig(TOPIC_NAME, MIN_ISR).value());
            row[at++] = Boolean.parseBoolean(configs.getTopicConfig(TOPIC_NAME, UNCLEAN).value()) ? 1 : 0;
            row[at] = TourRelease.hasElr(features) ? 1 : 0;
            return row;
        }

        private int write(PartitionChangeRecord record, int[] found, int first) {
            int at = first;
            found[at++] = record.leader() == -2 ? KEEP_LEADER : record.leader();
            found[at++] = record.leaderRecoveryState() == -1 ? KEEP_RECOVERY : record.leaderRecoveryState();
            at = set(record.isr(), found, at);
            found[at++] = record.replicas() == null ? 0 : 1;
            for (int i = 0; i < brokers; i++) {
                boolean held = record.replicas() != null && i < record.replicas().size();
                found[at++] = held ? record.replicas().get(i) : VACANT;
            }
            found[at++] = record.directories() == null ? 0 : 1;
            Arrays.fill(found, at, at + brokers, UNASSIGNED);
            if (record.directories() != null) {
                List<Integer> replicas = record.replicas() != null ? record.replicas()
                    : list(replication.getPartition(TOPIC, 0).replicas);
                for (int i = 0; i < replicas.size(); i++) {
                    found[at + replicas.get(i)] = number(record.directories().get(i));
                }
            }
            at = set(record.eligibleLeaderReplicas(), found, at + brokers);
            found[at++] = record.lastKnownElr() == null ? 0 : 1;
            found[at++] = record.lastKnownElr() == null || record.lastKnownElr().isEmpty()
                ? EMPTY : record.lastKnownElr().get(0);
            at = set(record.removingReplicas(), found, at);
            return set(record.addingReplicas(), found, at);
        }

        private static int set(List<Integer> members, int[] found, int at) {
            found[at] = members == null ? 0 : 1;
            found[at + 1] = members == null ? 0 : mask(members);
            return at + 2;
        }

        // Events. Null: answered with an error and no record.

        private List<ApiMessageAndVersion> decide(String action, int[] given) throws Throwable {
            int at = stateWidth() + 1;
            int broker = given[at];
            int first = given[at + 1];
            int second = given[at + 2];
            switch (action) {
                case "fence": return expire(broker);
                case "unfence": return heartbeat(broker, false, false, 0);
                case "heartbeat": return heartbeat(broker, false, false, first);
                case "directories_offline": return heartbeat(broker, registration(broker).fenced(), false, first);
                case "controlled_shutdown": return shutdown(broker);
                case "unregister": return replication.unregisterBroker(broker).records();
                case "new_incarnation": return register(broker, first != 0, second, new Uuid(4, ++offset));
                case "register_again": return register(broker, false, second, registration(broker).incarnationId());
                case "assign": return assign(broker, first, false);
                case "assign_late": return assign(broker, first, second != 0);
                case "alter_partition": return alterPartition(second, (first & 1) != 0, (first & 2) != 0);
                case "elect_preferred": return elect(0);
                case "elect_unclean": return elect(1);
                case "unclean_timer": return replication.maybeElectUncleanLeaders().records();
                case "balance_timer": return replication.maybeBalancePartitionLeaders().records();
                case "set_min_isr": return alterConfig(MIN_ISR, String.valueOf(first));
                case "set_unclean_election": return alterConfig(UNCLEAN, String.valueOf(!isUnclean()));
                case "enable_elr": return updateFeatures(Map.of(
                    MetadataVersion.FEATURE_NAME, withElr.featureLevel(), ELR_FEATURE, (short) 1), UpgradeType.UPGRADE);
                case "disable_elr": return updateFeatures(Map.of(ELR_FEATURE, (short) 0), UpgradeType.SAFE_DOWNGRADE);
                case "delete_topic": return delete();
                case "reassign": return reassign(list(Arrays.copyOfRange(given, at + 3, at + 3 + brokers)));
                case "cancel": return reassign(null);
                default: throw new IllegalArgumentException("unknown action " + action);
            }
        }

        private BrokerRegistration registration(int broker) {
            return cluster.brokerRegistrations().get(broker);
        }

        private boolean isUnclean() {
            return Boolean.parseBoolean(configs.getTopicConfig(TOPIC_NAME, UNCLEAN).value());
        }

        private List<ApiMessageAndVersion> expire(int broker) {
            TourRelease.letExpire(cluster, clock, broker);
            return replication.maybeFenceOneStaleBroker().records();
        }

        private List<ApiMessageAndVersion> heartbeat(int broker, boolean fence, boolean stop, int failed) {
            BrokerHeartbeatRequestData request = new BrokerHeartbeatRequestData()
                .setBrokerId(broker).setBrokerEpoch(registration(broker).epoch())
                .setWantFence(fence).setWantShutDown(stop)
                .setCurrentMetadataOffset(offset)
                .setOfflineLogDirs(dirsOf(broker, failed));
            return replication.processBrokerHeartbeat(
                request, cluster.registerBrokerRecordOffset(broker).getAsLong()).records();
        }

        /**
         * Only who leads something is told to go on: where this partition is led by another, a bystander is not. Of a
         * leader outside the ISR the controller's index does not know that it leads.
         */
        private List<ApiMessageAndVersion> shutdown(int broker) {
            PartitionRegistration p = replication.getPartition(TOPIC, 0);
            if (p.leader != broker || !list(p.isr).contains(broker)) {
                replay(new TopicRecord().setName(BYSTANDER_NAME).setTopicId(BYSTANDER));
                replay(new PartitionRecord().setTopicId(BYSTANDER).setPartitionId(0).setReplicas(List.of(broker))
                    .setIsr(List.of(broker)).setLeader(broker).setLeaderEpoch(0).setPartitionEpoch(0)
                    .setDirectories(List.of(new Uuid(0, 0))));
            }
            return heartbeat(broker, false, true, 0);
        }

        private List<ApiMessageAndVersion> register(int broker, boolean clean, int dirs, Uuid incarnation) {
            TourRelease.letExpire(cluster, clock, broker);
            BrokerRegistration old = registration(broker);
            BrokerRegistrationRequestData request = new BrokerRegistrationRequestData()
                .setBrokerId(broker).setClusterId(ControlManagers.CLUSTER)
                .setIncarnationId(incarnation)
                .setLogDirs(dirsOf(broker, dirs))
                .setPreviousBrokerEpoch(clean ? (old == null ? 0 : old.epoch()) : -1);
            supported.forEach((name, range) -> request.features().add(
                new BrokerRegistrationRequestData.Feature().setName(name)
                    .setMinSupportedVersion(range.min()).setMaxSupportedVersion(range.max())));
            FinalizedControllerFeatures finalized =
                new FinalizedControllerFeatures(features.finalizedFeatures(Long.MAX_VALUE).featureMap(), offset);
            return TourRelease.register(cluster, request, ++offset, finalized, true).records();
        }

        private List<ApiMessageAndVersion> assign(int broker, int number, boolean stale) {
            AssignReplicasToDirsRequestData.TopicData topic = new AssignReplicasToDirsRequestData.TopicData()
                .setTopicId(TOPIC)
                .setPartitions(List.of(new AssignReplicasToDirsRequestData.PartitionData().setPartitionIndex(0)));
            var result = replication.handleAssignReplicasToDirs(new AssignReplicasToDirsRequestData()
                .setBrokerId(broker).setBrokerEpoch(registration(broker).epoch() - (stale ? 1 : 0))
                .setDirectories(List.of(new AssignReplicasToDirsRequestData.DirectoryData()
                    .setId(directory(broker, number)).setTopics(List.of(topic)))));
            error = result.response().directories().get(0).topics().get(0).partitions().get(0).errorCode();
            return error == 0 ? result.records() : null;
        }

        /** As its leader does, members that stay keep their order, and new ones come last; all may state an older epoch. */
        private List<ApiMessageAndVersion> alterPartition(int isr, boolean recovering, boolean outdated) {
            PartitionRegistration p = replication.getPartition(TOPIC, 0);
            List<Integer> order = new ArrayList<>(list(p.isr));
            DriverRows.members(isr).stream().filter(member -> !list(p.isr).contains(member)).forEach(order::add);
            order.retainAll(DriverRows.members(isr));
            List<AlterPartitionRequestData.BrokerState> wanted = new ArrayList<>();
            for (int member : order) {
                long epoch = registration(member) == null ? 0 : registration(member).epoch();
                wanted.add(new AlterPartitionRequestData.BrokerState().setBrokerId(member)
                    .setBrokerEpoch(epoch - (outdated ? 1 : 0)));
            }
            AlterPartitionRequestData.TopicData topic = new AlterPartitionRequestData.TopicData().setTopicId(TOPIC)
                .setPartitions(List.of(new AlterPartitionRequestData.PartitionData().setPartitionIndex(0)
                    .setLeaderEpoch(p.leaderEpoch).setPartitionEpoch(p.partitionEpoch)
                    .setLeaderRecoveryState((byte) (recovering ? 1 : 0)).setNewIsrWithEpochs(wanted)));
            var result = replication.alterPartition(context(ApiKeys.ALTER_PARTITION), new AlterPartitionRequestData()
                .setBrokerId(p.leader).setBrokerEpoch(registration(p.leader).epoch()).setTopics(List.of(topic)));
            error = result.response().topics().get(0).partitions().get(0).errorCode();
            boolean taken = error == 0 || error == Errors.NEW_LEADER_ELECTED.code();
            return taken ? result.records() : null;
        }

        private static ControllerRequestContext context(ApiKeys key) {
            RequestHeaderData header = new RequestHeaderData().setRequestApiKey(key.id)
                .setRequestApiVersion(key.latestVersion());
            return new ControllerRequestContext(header, KafkaPrincipal.ANONYMOUS, OptionalLong.empty());
        }

        /** That nobody may be elected is an answer without a record. */
        private List<ApiMessageAndVersion> elect(int type) {
            ElectLeadersRequestData request = new ElectLeadersRequestData().setElectionType((byte) type);
            request.topicPartitions().add(new ElectLeadersRequestData.TopicPartitions()
                .setTopic(TOPIC_NAME).setPartitions(List.of(0)));
            var result = replication.electLeaders(request);
            error = result.response().replicaElectionResults().get(0).partitionResult().get(0).errorCode();
            boolean taken = error == 0 || error == Errors.PREFERRED_LEADER_NOT_AVAILABLE.code()
                || error == Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE.code();
            return taken ? result.records() : null;
        }

        /** An exception in one row of a reassignment is answered as such, and the controller goes on. */
        private List<ApiMessageAndVersion> reassign(List<Integer> target) {
            ReassignablePartition row = new ReassignablePartition().setPartitionIndex(0).setReplicas(target);
            var result = replication.alterPartitionReassignments(new AlterPartitionReassignmentsRequestData()
                .setTopics(List.of(new ReassignableTopic().setName(TOPIC_NAME).setPartitions(List.of(row)))));
            error = result.response().responses().get(0).partitions().get(0).errorCode();
            return error == 0 ? result.records() : null;
        }

        private List<ApiMessageAndVersion> delete() {
            var result = replication.deleteTopics(context(ApiKeys.DELETE_TOPICS), List.of(TOPIC));
            error = result.response().get(TOPIC).error().code();
            return error == 0 ? result.records() : null;
        }

        @SuppressWarnings("unchecked")
        private List<ApiMessageAndVersion> alterConfig(String key, String value) throws Throwable {
            ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, TOPIC_NAME);
            var changes = Map.of(topic, Map.of(key, new SimpleImmutableEntry<>(OpType.SET, value)));
            var result = (ControllerResult<Map<ConfigResource, ApiError>>) ControlManagers.call(configs, "incrementalAlterConfigs", changes);
            error = result.response().get(topic).error().code();
            return error == 0 ? result.records() : null;
        }

        @SuppressWarnings("unchecked")
        private List<ApiMessageAndVersion> updateFeatures(Map<String, Short> levels, UpgradeType type) throws Throwable {
            Map<String, UpgradeType> types = new HashMap<>();
            for (String feature : levels.keySet()) types.put(feature, type);
            var result = (ControllerResult<ApiError>) ControlManagers.call(configs, "updateFeatures", levels, types);
            error = result.response().error().code();
            return error == 0 ? result.records() : null;
        }
    }
}
