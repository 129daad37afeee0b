package org.apache.kafka.controller;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.metadata.FinalizedControllerFeatures;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Answers sequences of requests with the managers of a controller: one line a request, one line an answer.
 *
 * The first line of a sequence is `begin`, with `elr` where ELR is switched on, with the offset at which its log begins, and
 * with `few` where a timer elects two leaders before it is due again; an empty line asks for its answers. An answer is `ok REPLY|RECORD|...`,
 * `error NAME`, `resign#REASON` (another controller takes over, with the records of the log), or `halt#REASON` for
 * records that cannot be replayed, after which a sequence has no further answers. Requests are in FuzzRequests.java,
 * the texts of records in FuzzRecords.java, what no rule is of, and ends a sequence, in FuzzBeside.java.
 */
public final class FuzzDriver {
    static final String ELR_FEATURE = "eligible.leader.replicas.version";

    private static final int MOST_ROUNDS = 100;

    private FuzzDriver() { }

    public static void main(String[] args) throws Exception {
        Writer out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 16);
        System.setOut(System.err); // what the classes print is no answer
        ControlManagers.check();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        List<String> lines = new ArrayList<>();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (!line.isEmpty()) {
                lines.add(line);
                continue;
            }
            Controller controller = null;
            for (String asked : lines) {
                if (asked.startsWith("begin")) controller = new Controller(asked);
                else out.write(controller.answer(asked.split(" ")) + "\n");
                out.flush(); // what follows may end the process, and this answer tells where
            }
            lines.clear();
        }
    }

    /** Numbers as the placement of replicas draws them on both sides. */
    static final class Stream extends Random {
        private long state = 17;

        @Override
        protected int next(int bits) {
            state = state * 2862933555777941757L + 3037000493L;
            return (int) (state >>> (64 - bits));
        }
    }

    /** What an event decided: its reply, its records, and a broker whose controlled shutdown goes on. */
    static final class Decision {
        final String reply;
        final ControllerResult<?> result;
        final List<ApiMessageAndVersion> records;
        final int leaving;

        Decision(String reply, ControllerResult<?> result, int leaving) {
            this.reply = reply;
            this.result = result;
            this.records = result.records();
            this.leaving = leaving;
        }

        Decision(String reply, ControllerResult<?> result) {
            this(reply, result, -1);
        }

        /** An answer that writes nothing. */
        Decision(String reply) {
            this(reply, ControllerResult.of(List.of(), null));
        }
    }

    /** An active controller, and the log that another one would replay. */
    static final class Controller {
        final TourDriver.Clock clock = new TourDriver.Clock();
        final List<Uuid> topics = new ArrayList<>();
        final Map<String, VersionRange> supported = TourRelease.supportedFeatures();
        private final Stream stream = new Stream();
        final List<ApiMessage> log = new ArrayList<>();
        final List<Map.Entry<String, ControllerResult<?>>> written = new ArrayList<>();
        private boolean halted = false;
        final FuzzBeside.Operator operator = new FuzzBeside.Operator();
        ControlManagers managers;

        private final int mostElections;
        private final long firstOffset;

        Controller(String begin) throws ReflectiveOperationException {
            mostElections = begin.endsWith(" few") ? 2 : 1000;
            firstOffset = Long.parseLong("0" + begin.replaceAll("\\D", ""));
            failOver();
            append(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
                .setFeatureLevel(MetadataVersion.latestProduction().featureLevel()));
            if (begin.contains(" elr")) answer(new String[] {"elr", "on"});
        }

        long nextOffset() {
            return firstOffset + log.size();
        }

        /** Replays what another controller would. */
        void replayLog(ControlManagers into) {
            for (int i = 0; i < log.size(); i++) into.replay(log.get(i), firstOffset + i);
        }

        private void append(ApiMessage record) {
            managers.replay(record, nextOffset());
            log.add(record);
            if (record instanceof TopicRecord) topics.add(((TopicRecord) record).topicId());
        }

        private void failOver() throws ReflectiveOperationException {
            managers = new ControlManagers(clock, supported, new StripedReplicaPlacer(stream), new ControlManagers.Settings() {
                @Override
                public void of(ConfigurationControlManager.Builder configs) throws ReflectiveOperationException {
                    FuzzBeside.Operator.support(configs);
                    configs.setAlterConfigPolicy(Optional.of(operator)).setValidator(operator)
                        .setExistenceChecker(FuzzBeside.Operator::exists);
                }

                @Override
                public void of(ReplicationControlManager.Builder replication) {
                    replication.setMaxElectionsPerImbalance(mostElections).setCreateTopicPolicy(Optional.of(operator));
                }
            });
            replayLog(managers);
            managers.cluster.activate();
        }

        String answer(String[] words) throws ReflectiveOperationException {
            if (halted) return "halt";
            if (words[0].equals("balance") || words[0].equals("unclean")) return repeated(words[0].equals("balance"));
            Decision decided;
            try {
                decided = decide(words);
            } catch (ApiException e) {
                return "error " + Errors.forException(e).name();
            } catch (NoSuchMethodException e) {
                return "the process died: " + e;  // the build has no such field; the process goes on
            } catch (ReflectiveOperationException e) {
                throw e;  // the driver's own: Kafka was not asked
            } catch (Throwable e) {
                failOver();
                return "resign#" + e;
            }
            written.add(Map.entry(words[0], decided.result));
            try {
                decided.records.forEach(record -> append(record.message()));
            } catch (RuntimeException e) {
                halted = true;
                return "halt#" + e;
            }
            if (decided.leaving >= 0) {
                managers.cluster.heartbeatManager().maybeUpdateControlledShutdownOffset(decided.leaving, nextOffset() - 1);
            }
            return text(decided.reply, decided.records);
        }

        /** Rounds of a timer until it is not due any more; of rounds of which one resigns no record counts. */
        private String repeated(boolean balance) throws ReflectiveOperationException {
            int before = log.size(), rounds = 0;
            boolean atomic = false;
            List<ApiMessageAndVersion> records = new ArrayList<>();
            for (boolean due = true; due && rounds < MOST_ROUNDS; rounds++) {
                ControllerResult<Boolean> result;
                try {
                    result = balance ? managers.replication.maybeBalancePartitionLeaders()
                        : managers.replication.maybeElectUncleanLeaders();
                } catch (Throwable e) {
                    log.subList(before, log.size()).clear();
                    failOver();
                    return "resign#" + e;
                }
                try {
                    result.records().forEach(record -> append(record.message()));
                } catch (RuntimeException e) {
                    halted = true;
                    return "halt#" + e;
                }
                records.addAll(result.records());
                atomic |= result.isAtomic();
                due = result.response();
            }
            // Which round decides on a partition is a matter of hashes.
            written.add(Map.entry(balance ? "balance" : "unclean",
                atomic ? ControllerResult.atomicOf(records, true) : ControllerResult.of(records, true)));
            return text(String.valueOf(rounds), records);
        }

        private String text(String reply, List<ApiMessageAndVersion> records) {
            StringBuilder text = new StringBuilder("ok ").append(reply);
            records.forEach(record -> text.append('|').append(FuzzRecords.text(record.message(), topics)));
            return text.toString();
        }

        private Decision decide(String[] words) throws Throwable {
            switch (words[0]) {
                case "register": return register(words);
                case "heartbeat": return heartbeat(words);
                case "unregister":
                    return new Decision("", managers.replication.unregisterBroker(Integer.parseInt(words[1])));
                case "wait":
                    clock.sleep(Long.parseLong(words[1]));
                    return new Decision("");
                case "session-check": return new Decision("", managers.replication.maybeFenceOneStaleBroker());
                case "fail-over":
                    failOver();
                    return new Decision("");
                case "elr": return switchElr(words[1].equals("on"));
                case "config": return alterConfig(words);
                case "image": return new Decision(managers.replication.areSomePartitionsLeaderless() + " "
                    + managers.replication.arePartitionLeadersImbalanced() + ";"
                    + FuzzRecords.image(managers.replication, topics));
                case "beside": return new Decision(FuzzBeside.text(this));
                default: return FuzzRequests.decide(words, managers.replication, topics);
            }
        }

        private Decision register(String[] words) {
            BrokerRegistrationRequestData request = new BrokerRegistrationRequestData()
                .setBrokerId(Integer.parseInt(words[1])).setClusterId(words[6])
                .setIncarnationId(new Uuid(3, Long.parseLong(words[2])))
                .setLogDirs(FuzzRequests.directories(words[3]))
                .setPreviousBrokerEpoch(Long.parseLong(words[4])).setIsMigratingZkBroker(words[7].equals("zk"))
                .setRack(words[5].equals("-") ? null : words[5]);
            request.listeners().add(new BrokerRegistrationRequestData.Listener().setName("CLIENTS")
                .setHost("broker" + words[1]).setPort(9092).setSecurityProtocol((short) 1));
            request.listeners().add(new BrokerRegistrationRequestData.Listener().setName("BROKERS")
                .setHost("broker" + words[1]).setPort(9093));
            supported.forEach((name, range) -> request.features().add(
                new BrokerRegistrationRequestData.Feature().setName(name)
                    .setMinSupportedVersion(range.min()).setMaxSupportedVersion(range.max())));
            FinalizedControllerFeatures finalized = new FinalizedControllerFeatures(
                managers.features.finalizedFeatures(Long.MAX_VALUE).featureMap(), nextOffset());
            var result = TourRelease.register(
                managers.cluster, request, nextOffset(), finalized, !words[7].equals("old"));
            return new Decision(String.valueOf(result.response().epoch()), result);
        }

        /** As QuorumController does it: contact counts at once, the rest is an event. */
        private Decision heartbeat(String[] words) throws ReflectiveOperationException {
            int broker = Integer.parseInt(words[1]);
            long epoch = Long.parseLong(words[2]);
            BrokerHeartbeatRequestData request = new BrokerHeartbeatRequestData()
                .setBrokerId(broker).setBrokerEpoch(epoch)
                .setWantFence(words[3].equals("fence")).setWantShutDown(words[4].equals("stop"))
                .setCurrentMetadataOffset(Long.parseLong(words[5]))
                .setOfflineLogDirs(FuzzRequests.directories(words[6]));
            if (!words[7].equals("null")) {
                ControlManagers.set(request, "setCordonedLogDirs", List.class, FuzzRequests.directories(words[7]));
            }
            TourRelease.contact(managers.cluster, broker, epoch);
            var offset = managers.cluster.registerBrokerRecordOffset(broker);
            if (offset.isEmpty()) throw Errors.STALE_BROKER_EPOCH.exception();
            var result = managers.replication.processBrokerHeartbeat(request, offset.getAsLong());
            var reply = result.response();
            String text = reply.isCaughtUp() + "," + reply.isFenced() + "," + reply.inControlledShutdown() + ","
                + reply.shouldShutDown();
            return new Decision(text, result, reply.inControlledShutdown() ? broker : -1);
        }

        @SuppressWarnings("unchecked")
        private Decision switchElr(boolean on) throws Throwable {
            Map<String, UpgradeType> types = on ? Map.of() : Map.of(ELR_FEATURE, UpgradeType.SAFE_DOWNGRADE);
            var result = (ControllerResult<ApiError>) ControlManagers.call(
                managers.configs, "updateFeatures", Map.of(ELR_FEATURE, (short) (on ? 1 : 0)), types);
            return new Decision(result.response().error().name(), result);
        }

        @SuppressWarnings("unchecked")
        private Decision alterConfig(String[] words) throws Throwable {
            boolean ofTopic = words[1].equals("topic");
            ConfigResource resource = new ConfigResource(
                ofTopic ? ConfigResource.Type.TOPIC : ConfigResource.Type.BROKER, words[2].equals("-") ? "" : words[2]);
            String value = words[4].replace('_', ' ');
            var change = new SimpleImmutableEntry<>(value.equals("-") ? OpType.DELETE : OpType.SET, value);
            var result = (ControllerResult<Map<ConfigResource, ApiError>>) ControlManagers.call(
                managers.configs, "incrementalAlterConfigs", Map.of(resource, Map.of(words[3], change)));
            ApiError error = result.response().get(resource);
            return new Decision(error.error().name(), result);
        }
    }
}
