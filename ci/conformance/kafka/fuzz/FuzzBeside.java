package org.apache.kafka.controller;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.common.errors.ThrottlingQuotaExceededException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.ControllerRegistrationRequestData;
import org.apache.kafka.common.message.CreatePartitionsRequestData.CreatePartitionsAssignment;
import org.apache.kafka.common.message.CreatePartitionsRequestData.CreatePartitionsTopic;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableReplicaAssignment;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopic;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopicConfig;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.common.message.ListPartitionReassignmentsRequestData.ListPartitionReassignmentsTopics;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.FenceBrokerRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RegisterControllerRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metadata.UnfenceBrokerRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.FinalizedControllerFeatures;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.policy.AlterConfigPolicy;
import org.apache.kafka.server.policy.CreateTopicPolicy;

/**
 * What the managers answer that no rule is of: an operator's policies and quotas, configurations that are lists, what is
 * described, what images and tools call. The answers are compared with those of the release, name by name. Each of these
 * questions may change the managers, so that they end a sequence. Words of errors are left out.
 */
final class FuzzBeside {
    private static final Pattern ID = Pattern.compile("(?<![\\w-])[\\w-]{21}[AQgw](?![\\w-])");
    private static final Pattern RUN = Pattern.compile("([x\u00e4])\\1{99,}");
    private static final String ABSENT = "absent";
    private static final String UNSUPPORTED = "unsupported";
    private static final long HALF_A_SESSION = 4_500;
    private static final long UNCOMMITTED = 1_000_000;
    private static final String LONG = "x".repeat(32767);

    /** Who refuses, and by what. */
    private static final List<Map.Entry<String, RuntimeException>> REFUSALS = List.of(
        Map.entry("nobody", new IllegalStateException()), Map.entry("validator", new InvalidConfigurationException("")),
        Map.entry("validator", new ConfigException("")), Map.entry("config-policy", new PolicyViolationException("")),
        Map.entry("description", new InvalidConfigurationException("")),
        Map.entry("topic-policy", new PolicyViolationException("")),
        Map.entry("topic-policy", new IllegalStateException()),
        Map.entry("quota", new ThrottlingQuotaExceededException(0, "")));

    private final ControlManagers managers;
    private final Operator operator;
    private final List<Uuid> topics;
    private final List<String> names = new ArrayList<>();
    private final StringBuilder answer = new StringBuilder();

    private FuzzBeside(FuzzDriver.Controller controller) {
        managers = controller.managers;
        operator = controller.operator;
        topics = controller.topics.stream().filter(id -> managers.replication.getTopic(id) != null)
            .collect(Collectors.toList());
        topics.forEach(id -> names.add(managers.replication.getTopic(id).name()));
    }

    /** Policies and limits of an operator's: they note what they are asked, and refuse where they are told to. */
    static final class Operator implements CreateTopicPolicy, AlterConfigPolicy, ConfigurationValidator, Consumer<Integer> {
        private final List<String> asked = new ArrayList<>();
        private Map.Entry<String, RuntimeException> refusal = REFUSALS.get(0);

        private void note(String who, String said) {
            asked.add(said);
            if (refusal.getKey().equals(who)) throw refusal.getValue();
        }

        @Override
        public void validate(CreateTopicPolicy.RequestMetadata topic) {
            note("topic-policy", topic.toString());
        }

        @Override
        public void validate(AlterConfigPolicy.RequestMetadata change) {
            note("config-policy", change.toString());
        }

        @Override
        public void validate(ConfigResource resource) {
            note("description", resource.toString());
        }

        @Override
        public void validate(ConfigResource resource, Map<String, String> after, Map<String, String> before) {
            note("validator", resource + " " + new TreeMap<>(after) + " " + new TreeMap<>(before));
        }

        @Override
        public void accept(Integer partitions) {
            note("quota", "quota " + partitions);
        }

        @Override
        public void configure(Map<String, ?> settings) { }

        @Override
        public void close() { }

        /** Says of a configuration that it is not supported, where the release asks. */
        static void support(ConfigurationControlManager.Builder configs) throws ReflectiveOperationException {
            for (Method method : configs.getClass().getDeclaredMethods()) {
                if (!method.getName().equals("setSupportedConfigChecker")) continue;
                Class<?> type = method.getParameterTypes()[0];
                method.invoke(configs, Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
                    (of, asked, given) -> !List.of(given).contains(UNSUPPORTED)));
            }
        }

        static void exists(ConfigResource resource) {
            if (resource.name().equals(ABSENT)) throw new UnknownTopicOrPartitionException();
        }
    }

    static String text(FuzzDriver.Controller controller) throws ReflectiveOperationException {
        FuzzBeside asked = new FuzzBeside(controller);
        asked.askWritten(controller);
        if (asked.registrations().isEmpty()) new FuzzVersions(asked).ask(); // of the first sequence, once
        new FuzzLogs(asked, controller).ask(new FuzzImages(asked, asked.registrations()).ask(controller.log));
        new FuzzSettings(asked, controller).ask(asked.names);
        asked.askReverted();
        for (Map.Entry<String, RuntimeException> refusal : REFUSALS) {
            asked.operator.refusal = refusal;
            String who = refusal.getKey();
            String by = who + ":" + refusal.getValue().getClass().getSimpleName();
            String head = who.equals("nobody") ? "" : "refused by " + by + " ";
            if (List.of("nobody", "validator", "config-policy").contains(who)) asked.askConfigs(head);
            if (List.of("nobody", "description").contains(who)) asked.askDescribed(head);
            asked.askTopics(head);
        }
        asked.operator.refusal = REFUSALS.get(0);
        asked.askLimits();
        asked.askNames();
        asked.askPartitions();
        asked.askBrokers();
        asked.askFeatures();
        asked.askNamesakes();
        asked.askExpired(controller.clock);
        asked.askCluster(controller);
        return RUN.matcher(asked.named(asked.answer).replace('\n', ' ')).replaceAll(found -> found.group().length() + " " + found.group(1));
    }

    String named(CharSequence text) {
        return ID.matcher(text).replaceAll(found -> number(found.group()));
    }

    /** What the requests before have written, whose order a rule is of: versions, bytes, and whether all or nothing. */
    private void askWritten(FuzzDriver.Controller controller) {
        int number = 0;
        for (Map.Entry<String, ControllerResult<?>> one : controller.written) {
            ask("written " + number++ + " by " + one.getKey(), () -> (one.getValue().isAtomic() ? "all or nothing " : "")
                + one.getValue().records().stream().map(this::serialized).sorted().toList());
        }
    }

    /** A record as it goes to the log; one whose version has no place for what it says does not. */
    private String serialized(ApiMessageAndVersion record) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer bytes = ByteBuffer.allocate(record.message().size(cache, record.version()));
        record.message().write(new ByteBufferAccessor(bytes), cache, record.version());
        return named(text(record)) + " in " + bytes.position() + " bytes" + named(reread(record.message(), record.version()));
    }

    /** What a message is read as once it is written, where it is another. */
    static String reread(Message message, short version) {
        try {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer bytes = ByteBuffer.allocate(message.size(cache, version));
            message.write(new ByteBufferAccessor(bytes), cache, version);
            bytes.flip();
            Message read = message.getClass().getConstructor().newInstance();
            read.read(new ByteBufferAccessor(bytes), version);
            return read.equals(message) && !bytes.hasRemaining() ? "" : " read as " + read;
        } catch (ReflectiveOperationException | RuntimeException e) {
            return " read as " + e.getClass().getSimpleName();
        }
    }

    /** What is replayed, and then not committed, is as if it had never been. */
    private void askReverted() {
        List<Uuid> known = new ArrayList<>(topics);
        Uuid another = new Uuid(0, 4712);
        known.add(another);
        ask("reverted", () -> {
            String before = state(known);
            TourRelease.createSnapshot(managers.snapshots, UNCOMMITTED);
            managers.replay(new TopicRecord().setTopicId(another).setName("uncommitted"), UNCOMMITTED);
            managers.replay(new PartitionRecord().setTopicId(another).setPartitionId(0)
                .setReplicas(List.of(1, 2)).setAddingReplicas(List.of(2)).setIsr(List.of(1)).setLeader(1), UNCOMMITTED);
            managers.replay(new ConfigRecord().setResourceType(ConfigResource.Type.TOPIC.id()).setResourceName("uncommitted")
                .setName(ControlManagers.MIN_ISR).setValue("2"), UNCOMMITTED);
            managers.replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME).setFeatureLevel(
                (short) (MetadataVersion.latestProduction().featureLevel() - 1)), UNCOMMITTED);
            managers.replay(new FeatureLevelRecord().setName(FuzzDriver.ELR_FEATURE).setFeatureLevel(
                (short) (TourRelease.hasElr(managers.features) ? 0 : 1)), UNCOMMITTED);
            if (!topics.isEmpty()) managers.replay(new RemoveTopicRecord().setTopicId(topics.get(0)), UNCOMMITTED);
            String between = state(known), read = committed(another);
            managers.snapshots.revertToSnapshot(UNCOMMITTED);
            return !between.equals(before) + " " + state(known).equals(before) + " " + read;
        });
    }

    private String state(List<Uuid> known) throws Exception {
        return FuzzRecords.image(managers.replication, known) + text(call(managers.configs, "getConfigs",
            new ConfigResource(ConfigResource.Type.TOPIC, "uncommitted"))) + features(Long.MAX_VALUE) + TourRelease.hasElr(managers.features);
    }

    private String features(long epoch) {
        return text(managers.features.finalizedFeatures(epoch).featureMap());
    }

    /** What is read of the state before what is not committed yet. */
    private String committed(Uuid another) throws Exception {
        List<String> asked = new ArrayList<>(names);
        asked.add("uncommitted");
        return text(call(managers.replication, "findTopicIds", UNCOMMITTED, asked))
            + text(call(managers.replication, "findTopicNames", UNCOMMITTED, List.of(another)))
            + text(managers.replication.listPartitionReassignments(List.of(
                new ListPartitionReassignmentsTopics().setName("uncommitted").setPartitionIndexes(List.of(0))), UNCOMMITTED))
            + text(call(managers.configs, "describeConfigs", UNCOMMITTED,
                Map.of(new ConfigResource(ConfigResource.Type.TOPIC, "uncommitted"), List.of()))) + features(UNCOMMITTED);
    }

    /** A topic by its number; ids that are drawn for what is not created are of no interest. */
    private String number(String id) {
        for (int i = 0; i < topics.size(); i++) if (topics.get(i).toString().equals(id)) return "topic " + i;
        return id.startsWith("AAAAAAA") ? id : "drawn";
    }

    void ask(String name, Callable<?> question) {
        String said;
        operator.asked.clear();
        try {
            said = text(question.call());
        } catch (InvocationTargetException e) {
            said = e.getCause().getClass().getSimpleName();
        } catch (Throwable e) {
            said = e.getClass().getSimpleName();
        }
        answer.append(answer.length() > 0 ? "|" : "").append(name).append(" = ").append(said);
        if (!operator.asked.isEmpty()) answer.append(" asked ").append(operator.asked);
    }

    /** Topics have their numbers before anything is ordered, for their ids are drawn. */
    String text(Object value) {
        if (value instanceof Uuid id) return number(id.toString());
        if (value instanceof ControllerResult<?> result) {
            return text(result.response()) + (result.isAtomic() ? " all or nothing " : " ") + text(result.records());
        }
        if (value instanceof ApiError error) return error.error().name();
        if (value instanceof ResultOrError<?> one) return one.isError() ? text(one.error()) : text(one.result());
        if (value instanceof ApiMessageAndVersion record) {
            return record.message() + " of version " + record.version() + reread(record.message(), record.version());
        }
        if (value instanceof ApiMessage told) return told + reread(told, told.highestSupportedVersion());
        if (value instanceof Map<?, ?> map) return ordered(map.entrySet().iterator());
        if (value instanceof Map.Entry<?, ?> entry) return text(entry.getKey()) + ":" + text(entry.getValue());
        if (value instanceof Set<?> set) return ordered(set.iterator());
        if (value instanceof Iterator<?> rest) return ordered(rest);
        if (value instanceof Collection<?> all && !(value instanceof Message)) {
            return all.stream().map(this::text).toList().toString();
        }
        return value instanceof Object[] array ? text(Arrays.asList(array)) : String.valueOf(value);
    }

    private String ordered(Iterator<?> rest) {
        List<String> found = new ArrayList<>();
        rest.forEachRemaining(one -> found.add(named(text(one))));
        return found.stream().sorted().toList().toString();
    }

    /** Calls a method of an object or a class, by its name and how many arguments it takes. */
    static Object call(Object target, String name, Object... arguments) throws Exception {
        Class<?> type = target instanceof Class<?> of ? of : target.getClass();
        for (Method method : type.getDeclaredMethods()) {
            if (!method.getName().equals(name) || method.getParameterCount() != arguments.length) continue;
            method.setAccessible(true);
            return method.invoke(target, arguments);
        }
        throw new NoSuchMethodException(name);
    }

    /** As ControlManagers.call, of what the operator is asked too. */
    static Object gained(Object manager, String name, Object... given) throws Exception {
        try {
            return ControlManagers.call(manager, name, given);
        } catch (Exception | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    static <V> Map<String, V> map(Object... pairs) {
        Map<String, V> result = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            @SuppressWarnings("unchecked") V value = (V) pairs[i + 1];
            result.put((String) pairs[i], value);
        }
        return result;
    }

    private List<ConfigResource> resources() {
        List<ConfigResource> all = new ArrayList<>(List.of(
            new ConfigResource(ConfigResource.Type.TOPIC, ABSENT), new ConfigResource(ConfigResource.Type.BROKER, ""),
            new ConfigResource(ConfigResource.Type.BROKER_LOGGER, "1")));
        for (ConfigResource.Type type : ConfigResource.Type.values()) {
            if (type.name().equals("GROUP") || type.name().equals("CLIENT_METRICS")) all.add(new ConfigResource(type, "g"));
        }
        names.stream().limit(1).forEach(name -> all.add(new ConfigResource(ConfigResource.Type.TOPIC, name)));
        managers.cluster.brokerRegistrations().keySet().stream().sorted().limit(1).forEach(id ->
            all.add(new ConfigResource(ConfigResource.Type.BROKER, String.valueOf(id))));
        return all;
    }

    private void askConfigs(String head) {
        String list = ControlManagers.LIST;
        List<Map<String, String>> wholes = List.of(map(), map(ControlManagers.MIN_ISR, "2"), map(list, "a,b"),
            map(list, LONG), map(list, LONG + "x"), map(ControlManagers.MIN_ISR, null), map("cordoned.log.dirs", "*"),
            map("cordoned.log.dirs", "d1", list, ""), map(ControlManagers.MIN_ISR, "1", ControlManagers.UNCLEAN, "true"));
        List<Map<String, Object>> changes = new ArrayList<>();
        for (OpType kind : OpType.values()) {
            for (String value : new String[] {"a,c", "", "c,,c", "b"}) changes.add(map(list, new SimpleImmutableEntry<>(kind, value)));
            changes.add(map(ControlManagers.MIN_ISR, new SimpleImmutableEntry<>(kind, "1")));
            changes.add(map("cordoned.log.dirs", new SimpleImmutableEntry<>(kind, "d1")));
            changes.add(map(ControlManagers.EMPTY_LIST, new SimpleImmutableEntry<>(kind, "a")));
        }
        if (head.isEmpty()) { // a letter of two bytes
            changes.add(map(list, new SimpleImmutableEntry<>(OpType.SET, "\u00e4".repeat(20_000))));
        }
        for (ConfigResource resource : resources()) {
            int number = 0;
            for (Map<String, String> whole : wholes) {
                ask(head + "legacyAlterConfigs " + resource + " " + number++, () ->
                    gained(managers.configs, "legacyAlterConfigs", Map.of(resource, whole)));
            }
            for (Map<String, Object> change : changes) {
                ask(head + "incrementalAlterConfigs " + resource + " " + change, () ->
                    gained(managers.configs, "incrementalAlterConfigs", Map.of(resource, change)));
            }
            for (boolean created : new boolean[] {false, true}) {
                for (int at : new int[] {0, 5}) {
                    ask(head + "one of incrementalAlterConfigs " + resource + " " + created + " " + at, () ->
                        call(managers.configs, "incrementalAlterConfig", resource, changes.get(at), created, true));
                }
            }
        }
        Map<ConfigResource, Object> all = new LinkedHashMap<>();
        List<ConfigResource> several = resources();
        names.stream().skip(1).forEach(name -> several.add(new ConfigResource(ConfigResource.Type.TOPIC, name)));
        for (Map<String, Object> change : changes) {
            several.forEach(one -> all.put(one, change));
            ask(head + "incrementalAlterConfigs of all " + change, () -> gained(managers.configs, "incrementalAlterConfigs", all));
        }
        several.forEach(one -> all.put(one, wholes.get(1)));
        ask(head + "legacyAlterConfigs of all", () -> gained(managers.configs, "legacyAlterConfigs", all));
    }

    private void askDescribed(String head) {
        for (ConfigResource resource : resources()) {
            for (List<String> keys : List.of(List.<String>of(), List.of(ControlManagers.MIN_ISR, ABSENT))) {
                ask(head + "describeConfigs " + resource + " " + keys, () ->
                    call(managers.configs, "describeConfigs", Long.MAX_VALUE, Map.of(resource, keys)));
            }
        }
        Map<ConfigResource, List<String>> all = new LinkedHashMap<>();
        resources().forEach(one -> all.put(one, List.of()));
        ask(head + "describeConfigs of all", () -> call(managers.configs, "describeConfigs", Long.MAX_VALUE, all));
    }

    ControllerRequestContext context(ApiKeys key) {
        RequestHeaderData header = new RequestHeaderData().setRequestApiKey(key.id)
            .setRequestApiVersion(key.latestVersion());
        return new ControllerRequestContext(header, KafkaPrincipal.ANONYMOUS, OptionalLong.empty(), operator);
    }

    private void askTopics(String head) {
        List<Integer> ids = managers.cluster.brokerRegistrations().keySet().stream().sorted().limit(2).toList();
        List<String[]> all = new ArrayList<>(List.of(new String[][] {
            {"new"}, {"new", "new"}, {"a.b", "a_b"}, {""}, {"..", "new"}, {"x".repeat(250)}}));
        if (head.isEmpty()) {
            all.addAll(List.of(new String[][] {{"a/b", "../x", "a b", "new"}, {"."}, {"\u00e9", "a:b"},
                {"x".repeat(249), "-_.9"}, {"__consumer_offsets", "new"}}));
        }
        for (String[] wanted : all) {
            for (boolean only : new boolean[] {false, true}) {
                CreateTopicsRequestData request = new CreateTopicsRequestData().setValidateOnly(only);
                for (String name : wanted) {
                    CreatableTopic topic = new CreatableTopic().setName(name).setNumPartitions(only ? 2 : -1)
                        .setReplicationFactor((short) (only ? 1 : -1));
                    if (!only) topic.assignments().add(new CreatableReplicaAssignment().setPartitionIndex(0).setBrokerIds(ids));
                    topic.configs().add(new CreatableTopicConfig().setName(ControlManagers.MIN_ISR).setValue("2"));
                    topic.configs().add(new CreatableTopicConfig().setName(ControlManagers.LIST).setValue(only ? null : "a"));
                    topic.configs().add(new CreatableTopicConfig().setName(ControlManagers.SECRET).setValue("s"));
                    request.topics().add(topic);
                }
                for (Set<String> told : List.of(Set.<String>of(), Set.of("new"))) {
                    ask(head + "createTopics " + Arrays.toString(wanted) + " " + only + " " + told, () -> created(request, told));
                }
            }
        }
        for (int[] counts : new int[][] {{1, -1}, {-1, 1}, {1, 1}, {2, 1}}) {
            CreatableTopic topic = new CreatableTopic().setName("new").setNumPartitions(counts[0])
                .setReplicationFactor((short) counts[1]);
            if (counts[0] < 2) {
                topic.assignments().add(new CreatableReplicaAssignment().setPartitionIndex(0).setBrokerIds(ids));
            }
            CreateTopicsRequestData request = new CreateTopicsRequestData();
            request.topics().add(topic);
            ask(head + "createTopics by counts " + Arrays.toString(counts), () -> created(request, Set.of()));
        }
        for (String name : names.stream().limit(2).toList()) {
            int present = (int) managers.replication.getTopic(topics.get(names.indexOf(name))).numPartitions(Long.MAX_VALUE);
            List<CreatePartitionsTopic> rows = new ArrayList<>(List.of(
                new CreatePartitionsTopic().setName(name).setCount(present + 2).setAssignments(null),
                new CreatePartitionsTopic().setName(ABSENT).setCount(3).setAssignments(null)));
            var list = new CreatePartitionsAssignment().setBrokerIds(Replicas.toList(
                managers.replication.getPartition(topics.get(names.indexOf(name)), 0).replicas));
            for (int more : new int[] {-1, 1, 2, 3}) {
                rows.add(new CreatePartitionsTopic().setName(name).setCount(present + more).setAssignments(List.of(list, list)));
            }
            ask(head + "createPartitions " + name, () -> {
                var result = managers.replication.createPartitions(context(ApiKeys.CREATE_PARTITIONS), rows);
                result.response().forEach(row -> row.setErrorMessage(null));
                return result;
            });
        }
        ask(head + "deleteTopics", () -> managers.replication.deleteTopics(context(ApiKeys.DELETE_TOPICS), List.copyOf(topics)));
    }

    /** How many records a request may write, and how many partitions it may add, in sum. */
    private void askLimits() {
        Map<String, Object> changes = new LinkedHashMap<>();
        for (int records = 1; records <= 10_001; records++) {
            changes.put("key" + records, new SimpleImmutableEntry<>(OpType.SET, "a"));
            if (records < 10_000) continue;
            ask("limit of records " + records, () -> {
                try {
                    return ((ControllerResult<?>) gained(managers.configs, "incrementalAlterConfigs",
                        Map.of(new ConfigResource(ConfigResource.Type.TOPIC, "any"), changes))).records().size();
                } finally {
                    operator.asked.clear();
                }
            });
        }
        for (int more : new int[] {-1, 0, 1, 5000, 5001, 9997, 9998, 10_000, 10_001}) {
            List<CreatePartitionsTopic> rows = new ArrayList<>();
            CreateTopicsRequestData created = new CreateTopicsRequestData();
            CreatableTopic byHand = new CreatableTopic().setName("new");
            byHand.assignments().add(new CreatableReplicaAssignment());
            for (int i = 0; i < 2; i++) {
                String name = i < names.size() ? names.get(i) : ABSENT + i;
                int present = i < names.size() ? managers.replication.getTopic(topics.get(i)).numPartitions(Long.MAX_VALUE) : 0;
                rows.add(new CreatePartitionsTopic().setName(name).setCount(present + more));
                created.topics().add(new CreatableTopic().setName(ABSENT + i).setNumPartitions(i == 0 ? more : -1));
                ask("limit of growth " + more + " " + i, () ->
                    call(managers.replication, "validateTotalNumberOfPartitions", rows));
                ask("limit of creation " + more + " " + i, () ->
                    call(managers.replication, "validateTotalNumberOfPartitions", created, 3));
            }
            created.topics().add(byHand);
            ask("limit of creation " + more + " by hand", () ->
                call(managers.replication, "validateTotalNumberOfPartitions", created, 3));
        }
    }

    private Object created(CreateTopicsRequestData request, Set<String> told) throws Exception {
        var result = (ControllerResult<?>) gained(managers.replication, "createTopics",
            context(ApiKeys.CREATE_TOPICS), request.duplicate(), told);
        ((CreateTopicsResponseData) result.response()).topics().forEach(row -> row.setErrorMessage(null));
        return result;
    }

    private void askNames() {
        List<String> asked = new ArrayList<>(names);
        asked.addAll(List.of(ABSENT, ""));
        List<Uuid> ids = new ArrayList<>(topics);
        ids.addAll(List.of(Uuid.ZERO_UUID, new Uuid(0, 9)));
        ask("findTopicIds", () -> call(managers.replication, "findTopicIds", Long.MAX_VALUE, asked));
        ask("findTopicNames", () -> call(managers.replication, "findTopicNames", Long.MAX_VALUE, ids));
        ask("findAllTopicIds", () -> call(managers.replication, "findAllTopicIds", Long.MAX_VALUE));
        for (String name : asked) {
            ask("getTopicId " + name, () -> call(managers.replication, "getTopicId", name));
            for (String method : List.of("currentTopicConfig", "uncleanLeaderElectionEnabledForTopic")) {
                ask(method + " " + name, () -> call(managers.configs, method, name));
            }
            ask("getTopicConfig " + name, () -> call(managers.configs, "getTopicConfig", name, ControlManagers.MIN_ISR));
        }
        ConfigResource unsaid = new ConfigResource(ConfigResource.Type.TOPIC, "unsaid");
        for (String name : List.of(ControlManagers.UNCLEAN, ControlManagers.LIST, ControlManagers.EMPTY_LIST, UNSUPPORTED)) {
            managers.replay(new ConfigRecord().setResourceType(unsaid.type().id()).setResourceName(unsaid.name())
                .setName(name).setValue(""), UNCOMMITTED);
            for (OpType kind : OpType.values()) {
                ask("incrementalAlterConfigs of nothing " + name + " " + kind, () -> gained(managers.configs,
                    "incrementalAlterConfigs", Map.of(unsaid, map(name, new SimpleImmutableEntry<>(kind, "a")))));
            }
        }
        ask("getConfigs unsaid", () -> call(managers.configs, "getConfigs", unsaid));
        ask("uncleanLeaderElectionEnabledForTopic unsaid", () ->
            call(managers.configs, "uncleanLeaderElectionEnabledForTopic", "unsaid"));
        for (String method : List.of("clusterConfig", "currentControllerConfig", "brokersWithConfigs",
                "getStaticallyConfiguredMinInsyncReplicas")) {
            ask(method, () -> call(managers.configs, method));
        }
        ask("computeEffectiveTopicConfigs", () ->
            call(managers.configs, "computeEffectiveTopicConfigs", map(ControlManagers.MIN_ISR, "3")));
        for (PartitionChangeBuilder.Election kind : PartitionChangeBuilder.Election.values()) {
            ask("Election " + kind, () -> PartitionChangeBuilder.Election.valueOf(kind.name()));
        }
    }

    private List<PartitionRegistration> partitions() {
        List<PartitionRegistration> found = new ArrayList<>();
        for (Uuid id : topics) {
            for (int index = 0; index < managers.replication.getTopic(id).numPartitions(Long.MAX_VALUE); index++) {
                found.add(managers.replication.getPartition(id, index));
            }
        }
        return found;
    }

    private static ImageWriterOptions.Builder writer(MetadataVersion version) throws ReflectiveOperationException {
        for (Constructor<?> made : ImageWriterOptions.Builder.class.getConstructors()) {
            if (made.getParameterCount() == 0) return (ImageWriterOptions.Builder) made.newInstance();
            if (made.getParameterTypes()[0] == MetadataVersion.class) {
                return (ImageWriterOptions.Builder) made.newInstance(version);
            }
        }
        throw new NoSuchMethodException("a constructor of ImageWriterOptions.Builder that is known");
    }

    static List<ImageWriterOptions> options(List<String> lost) throws ReflectiveOperationException {
        List<ImageWriterOptions> all = new ArrayList<>();
        for (MetadataVersion version : MetadataVersion.VERSIONS) {
            if (!version.isProduction()) continue;
            ImageWriterOptions.Builder one = writer(version);
            one.setMetadataVersion(version).setLossHandler(loss -> lost.add(version + " " + loss.loss()));
            try {
                call(one, "setEligibleLeaderReplicasEnabled", version.featureLevel() > 1);
            } catch (NoSuchMethodException e) {
                // A release without the switch writes what the version allows.
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            all.add(one.build());
        }
        return all;
    }

    private void askPartitions() {
        List<PartitionRegistration> all = partitions();
        for (Uuid id : topics) {
            PartitionRegistration first = managers.replication.getPartition(id, 0);
            if (first != null && first.leader >= 0) askLeader(id, 0, first);
        }
        for (Uuid second : List.of(DirectoryId.MIGRATING, new Uuid(0, 5))) {
            all.add(new PartitionRegistration(new PartitionRecord().setReplicas(List.of(1, 2)).setIsr(List.of(1)).setLeader(1)
                .setDirectories(List.of(DirectoryId.MIGRATING, second))));
        }
        for (byte state = 0; state < 3; state++) {
            byte asked = state;
            ask("electionWasUnclean " + state, () -> call(PartitionRegistration.class, "electionWasUnclean", asked));
        }
        for (int i = 0; i < all.size(); i++) {
            PartitionRegistration one = all.get(i);
            int number = i;
            ask("toRecord of partition " + i, () -> written(option -> one.toRecord(Uuid.ZERO_UUID, number, option)));
            ask("directory of partition " + i + " on no broker", () -> one.directory(4711));
            ask("toRecord of partition " + i + " of no version", () -> {
                List<String> lost = new ArrayList<>();
                var none = writer(null).setMetadataVersion(null).setLossHandler(loss -> lost.add(loss.loss())).build();
                return text(one.toRecord(Uuid.ZERO_UUID, number, none)) + " lost " + lost;
            });
            for (int j = 0; j < all.size(); j++) {
                PartitionRegistration other = all.get(j);
                ask("diff of partition " + i + " from " + j, () -> one.diff(other));
            }
        }
    }

    /** A leader that has recovered says that it recovers, or is in a state that there is not. */
    private void askLeader(Uuid topic, int index, PartitionRegistration one) {
        AlterPartitionRequestData.PartitionData partition = new AlterPartitionRequestData.PartitionData()
            .setPartitionIndex(index).setLeaderEpoch(one.leaderEpoch).setPartitionEpoch(one.partitionEpoch)
            .setNewIsrWithEpochs(List.of(
                new AlterPartitionRequestData.BrokerState().setBrokerId(one.leader)));
        AlterPartitionRequestData request = new AlterPartitionRequestData().setBrokerId(one.leader)
            .setBrokerEpoch(managers.cluster.registration(one.leader).epoch())
            .setTopics(List.of(new AlterPartitionRequestData.TopicData().setTopicId(topic).setPartitions(List.of(partition))));
        for (byte state : new byte[] {1, 2, -1}) {
            partition.setLeaderRecoveryState(state);
            ask("alterPartition of partition " + topics.indexOf(topic) + " " + index + " " + state, () ->
                managers.replication.alterPartition(context(ApiKeys.ALTER_PARTITION), request));
        }
        partition.setLeaderRecoveryState((byte) 0).setNewIsr(List.of(one.leader));
        ask("alterPartition of version 2 " + topics.indexOf(topic) + " " + index, () -> managers.replication.alterPartition(
            new ControllerRequestContext(new RequestHeaderData().setRequestApiKey(ApiKeys.ALTER_PARTITION.id)
                .setRequestApiVersion((short) 2), KafkaPrincipal.ANONYMOUS, OptionalLong.empty(), operator), request));
    }

    private interface Written {
        ApiMessageAndVersion in(ImageWriterOptions options);
    }

    private String written(Written record) throws ReflectiveOperationException {
        List<String> lost = new ArrayList<>(), texts = new ArrayList<>();
        String last = "";
        for (ImageWriterOptions option : options(lost)) {
            String one = text(record.in(option));
            if (!one.equals(last)) texts.add("from " + option.metadataVersion() + " " + one);
            last = one;
        }
        return texts + " lost " + lost;
    }

    /** Updates of features, of each kind, to levels up and down. */
    private void askFeatures() {
        int newest = MetadataVersion.latestProduction().featureLevel();
        for (String name : List.of(MetadataVersion.FEATURE_NAME, FuzzDriver.ELR_FEATURE, ABSENT)) {
            for (int level : new int[] {newest + 1, newest, newest - 1, newest - 4, 3, 1, 0}) {
                for (UpgradeType kind : UpgradeType.values()) {
                    ask("updateFeatures " + name + " " + level + " " + kind, () -> gained(
                        managers.features, "updateFeatures", Map.of(name, (short) level), Map.of(name, kind)));
                }
            }
        }
    }

    /** Heartbeats that waited too long for an answer count as contact. */
    private void askExpired(TourDriver.Clock clock) {
        ask("processExpiredBrokerHeartbeat", () -> {
            clock.sleep(HALF_A_SESSION + 1);
            managers.cluster.brokerRegistrations().values().forEach(one -> managers.replication.processExpiredBrokerHeartbeat(
                new BrokerHeartbeatRequestData().setBrokerId(one.id()).setBrokerEpoch(one.epoch())));
            clock.sleep(HALF_A_SESSION);
            return fenced();
        });
        for (BrokerRegistration one : registrations()) {
            ask("processExpiredBrokerHeartbeat of another epoch " + one.id(), () -> {
                managers.replication.processExpiredBrokerHeartbeat(
                    new BrokerHeartbeatRequestData().setBrokerId(one.id()).setBrokerEpoch(one.epoch() + 1));
                return "counts";
            });
        }
        ask("silence of an hour", () -> {
            clock.sleep(3_600_000);
            return fenced();
        });
    }

    /** The stale broker that is fenced; its partitions come in the order of their hashes. */
    private List<?> fenced() {
        ControllerResult<?> result = managers.replication.maybeFenceOneStaleBroker();
        return List.of(text(result.response()), result.isAtomic(),
            result.records().stream().map(record -> named(text(record))).sorted().toList());
    }

    /** A topic that is deleted takes nothing along of what else has its name. */
    private void askNamesakes() {
        String name = "77";
        Uuid topic = new Uuid(0, 4713);
        for (ConfigResource.Type type : ConfigResource.Type.values()) {
            managers.replay(new ConfigRecord().setResourceType(type.id()).setResourceName(name)
                .setName(ControlManagers.LIST).setValue("a"), UNCOMMITTED);
        }
        managers.replay(new TopicRecord().setTopicId(topic).setName(name), UNCOMMITTED);
        managers.replay(new RemoveTopicRecord().setTopicId(topic), UNCOMMITTED);
        for (ConfigResource.Type type : ConfigResource.Type.values()) {
            ask("getConfigs " + type, () -> call(managers.configs, "getConfigs", new ConfigResource(type, name)));
        }
    }

    List<BrokerRegistration> registrations() {
        return managers.cluster.brokerRegistrations().keySet().stream().sorted().map(managers.cluster::registration)
            .collect(Collectors.toCollection(ArrayList::new));
    }

    private void askBrokers() {
        List<BrokerRegistration> all = registrations();
        RegisterBrokerRecord listening = new RegisterBrokerRecord().setBrokerId(77).setFenced(false).setRack("a")
            .setInControlledShutdown(true).setLogDirs(List.of(new Uuid(0, 1), new Uuid(0, 2)));
        listening.endPoints().add(new RegisterBrokerRecord.BrokerEndpoint().setName("OUT").setHost("here").setPort(9));
        listening.features().add(new RegisterBrokerRecord.BrokerFeature().setName("f").setMaxSupportedVersion((short) 2));
        all.add(BrokerRegistration.fromRecord(listening));
        all.add(BrokerRegistration.fromRecord(
            listening.duplicate().setBrokerId(78).setRack(null).setInControlledShutdown(false)));
        all.add(BrokerRegistration.fromRecord(listening.duplicate().setBrokerId(79).setIsMigratingZkBroker(true)));
        for (BrokerRegistration one : all) {
            String name = " of broker " + one.id();
            for (String method : List.of("nodes", "listeners", "supportedFeatures", "hasUncordonedDirs",
                    "cordonedDirectories", "directories", "rack", "incarnationId")) {
                ask(method + name, () -> call(one, method));
            }
            for (String listener : List.of("OUT", ABSENT)) ask("node" + name + " " + listener, () -> one.node(listener));
            ask("toRecord" + name, () -> written(one::toRecord));
        }
    }

    /** Which state a heartbeat leads to, of a broker that shuts down since an offset, or does not yet. */
    private void askStates(long since) {
        BrokerHeartbeatManager heartbeats = managers.cluster.heartbeatManager();
        for (int id : managers.cluster.brokerRegistrations().keySet().stream().sorted().toList()) {
            if (since >= 0) {
                ask("shutdown of " + id + " " + since, () -> {
                    call(heartbeats, "maybeUpdateControlledShutdownOffset", id, since);
                    return call(heartbeats, "controlledShutdownOffset", id);
                });
            }
            for (int wish = 0; wish < 8; wish++) {
                boolean leads = (wish & 4) != 0;
                BrokerHeartbeatRequestData request = new BrokerHeartbeatRequestData().setBrokerId(id)
                    .setWantFence((wish & 1) != 0).setWantShutDown((wish & 2) != 0).setCurrentMetadataOffset(9);
                ask("state of " + id + " " + wish + " " + since, () -> {
                    Supplier<Boolean> led = () -> leads;
                    Object states = call(heartbeats, "calculateNextBrokerState", id, request, 5L, led);
                    return call(states, "current") + " " + call(states, "next");
                });
            }
        }
    }

    /** The records of releases before 3.3 that fence each broker and unfence it, every other one the other way round. */
    static List<ApiMessage> fences(List<BrokerRegistration> brokers) {
        List<ApiMessage> records = new ArrayList<>();
        for (BrokerRegistration one : brokers) {
            List<ApiMessage> both = new ArrayList<>(List.of(new FenceBrokerRecord().setId(one.id()).setEpoch(one.epoch()),
                new UnfenceBrokerRecord().setId(one.id()).setEpoch(one.epoch())));
            if (records.size() % 4 > 0) Collections.reverse(both);
            records.addAll(both);
        }
        return records;
    }

    /** A broker that supports versions of features, of the metadata all. */
    static BrokerRegistrationRequestData newBroker(FuzzDriver.Controller controller, short least, short most) {
        BrokerRegistrationRequestData broker = new BrokerRegistrationRequestData().setBrokerId(78)
            .setClusterId(ControlManagers.CLUSTER).setIncarnationId(new Uuid(0, 4)).setLogDirs(List.of(new Uuid(0, 4711)));
        controller.supported.forEach((name, range) -> {
            boolean all = name.equals(MetadataVersion.FEATURE_NAME);
            if (most >= 0 || all) {
                broker.features().add(new BrokerRegistrationRequestData.Feature().setName(name)
                    .setMinSupportedVersion(all ? range.min() : least).setMaxSupportedVersion(all ? range.max() : most));
            }
        });
        return broker;
    }

    private void askCluster(FuzzDriver.Controller controller) {
        ClusterControlManager cluster = managers.cluster;
        List<Integer> ids = new ArrayList<>(cluster.brokerRegistrations().keySet());
        ids.add(4711);
        for (int id : ids) {
            for (String method : List.of("isUnfenced", "isActive", "inControlledShutdown", "defaultDir", "registration")) {
                ask(method + " " + id, () -> call(cluster, method, id));
            }
        }
        ask("clusterId", () -> call(cluster, "clusterId"));
        ControllerRegistrationRequestData request = new ControllerRegistrationRequestData().setControllerId(3)
            .setIncarnationId(new Uuid(0, 3));
        request.listeners().add(new ControllerRegistrationRequestData.Listener().setName("C").setHost("here").setPort(1));
        request.features().add(new ControllerRegistrationRequestData.Feature().setName("f").setMaxSupportedVersion((short) 2));
        ask("registerController", () -> call(cluster, "registerController", request));
        cluster.replay(new RegisterControllerRecord().setControllerId(3));
        for (int id : new int[] {3, 4}) ask("unregisterController " + id, () -> call(cluster, "unregisterController", id));
        for (String method : List.of("controllerRegistrations", "brokerSupportedFeatures", "controllerSupportedFeatures")) {
            ask(method, () -> call(cluster, method));
        }
        FinalizedControllerFeatures finalized = new FinalizedControllerFeatures(
            managers.features.finalizedFeatures(Long.MAX_VALUE).featureMap(), 9);
        FinalizedControllerFeatures nothing = new FinalizedControllerFeatures(Map.of(), 9);
        for (short[] supported : new short[][] {{0, -1}, {0, 0}, {0, 1}, {0, 99}, {2, 99}}) {
            short least = supported[0], most = supported[1];
            BrokerRegistrationRequestData broker = newBroker(controller, least, most);
            for (FinalizedControllerFeatures known : List.of(finalized, nothing)) {
                ask("registerBroker of features from " + least + " to " + most + " of " + known.featureNames().size(), () -> {
                    var result = TourRelease.register(cluster, broker, 9, known, true);
                    return result.response().epoch() + " " + text(result.records());
                });
            }
        }
        for (int enough = 1; enough <= ids.size(); enough++) {
            int wanted = enough;
            ask("ready for " + enough, () -> {
                CompletableFuture<Void> ready = new CompletableFuture<>();
                cluster.addReadyBrokersFuture(ready, wanted);
                boolean before = ready.isDone();
                for (BrokerRegistration one : List.copyOf(cluster.brokerRegistrations().values())) {
                    cluster.replay(new BrokerRegistrationChangeRecord().setBrokerId(one.id()).setBrokerEpoch(one.epoch())
                        .setFenced((byte) (wanted % 2 == 0 ? 1 : -1)));
                }
                return before + " " + ready.isDone();
            });
        }
        long offset = 1L << 31;
        for (BrokerRegistration one : registrations()) {
            ask("lowestActiveOffset " + one.id(), () -> call(cluster.heartbeatManager(), "lowestActiveOffset"));
            cluster.heartbeatManager().touch(one.id(), false, offset);
            offset -= 5;
        }
        ask("lowestActiveOffset", () -> call(cluster.heartbeatManager(), "lowestActiveOffset"));
        ask("brokers", () -> {
            List<String> rows = new ArrayList<>();
            for (Object broker : (Collection<?>) call(cluster.heartbeatManager(), "brokers")) {
                StringBuilder row = new StringBuilder(String.valueOf(call(broker, "id")));
                row.append(call(cluster.heartbeatManager(), "controlledShutdownOffset", call(broker, "id")));
                for (String field : List.of("fenced", "shuttingDown", "metadataOffset")) row.append(' ').append(call(broker, field));
                rows.add(row.toString());
            }
            return Set.copyOf(rows);
        });
        for (long since : new long[] {-1, 0, Long.MAX_VALUE}) askStates(since);
        ask("directories of an unregistered broker", () -> {
            BrokerRegistration gone = registrations().get(0);
            managers.replay(new UnregisterBrokerRecord().setBrokerId(gone.id()).setBrokerEpoch(gone.epoch()), UNCOMMITTED);
            var broker = newBroker(controller, (short) 0, (short) 99).setLogDirs(gone.directories());
            return text(TourRelease.register(cluster, broker, 9, finalized, true).records());
        });
        for (ApiMessage old : fences(registrations())) {
            ask("replay of " + old, () -> {
                managers.replay(old, UNCOMMITTED);
                return registrations().stream().map(BrokerRegistration::fenced).toList();
            });
        }
        for (boolean active : new boolean[] {true, false}) {
            if (!active) ask("deactivate", () -> call(cluster, "deactivate"));
            ask("trackBrokerHeartbeat " + active, () -> call(cluster, "trackBrokerHeartbeat", 4711, 0L));
        }
        ask("heartbeatManager", () -> call(cluster, "heartbeatManager").getClass().getSimpleName());
    }
}
