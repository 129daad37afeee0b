package org.apache.kafka.controller;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.AccessControlEntryRecord;
import org.apache.kafka.common.metadata.ClientQuotaRecord;
import org.apache.kafka.common.metadata.ClientQuotaRecord.EntityData;
import org.apache.kafka.common.metadata.DelegationTokenRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.ProducerIdsRecord;
import org.apache.kafka.common.metadata.RegisterControllerRecord;
import org.apache.kafka.common.metadata.RemoveAccessControlEntryRecord;
import org.apache.kafka.common.metadata.RemoveDelegationTokenRecord;
import org.apache.kafka.common.metadata.RemoveUserScramCredentialRecord;
import org.apache.kafka.common.metadata.UserScramCredentialRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.image.LocalReplicaChanges;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.TopicDelta;
import org.apache.kafka.image.TopicImage;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** What brokers make of the log: an image after each part of it, what each broker is told, and snapshots. */
final class FuzzImages {
    private static final int PARTS = 3;

    private final FuzzBeside beside;
    private final List<BrokerRegistration> brokers;
    private MetadataImage image = MetadataImage.EMPTY;

    FuzzImages(FuzzBeside beside, List<BrokerRegistration> brokers) {
        this.beside = beside;
        this.brokers = brokers;
    }

    /** Asks, and gives the records of the last snapshot. */
    List<ApiMessage> ask(List<ApiMessage> log) throws ReflectiveOperationException {
        List<ApiMessage> records = others();
        Set<Class<?>> kinds = records.stream().map(Object::getClass).collect(Collectors.toSet());
        records.addAll(log);
        RegisterControllerRecord controller = new RegisterControllerRecord().setControllerId(3).setIncarnationId(new Uuid(0, 3));
        controller.endPoints().add(new RegisterControllerRecord.ControllerEndpoint().setName("C").setHost("here").setPort(1));
        records.add(controller);
        records.addAll(FuzzBeside.fences(brokers));
        records.addAll(List.of(
            new RemoveAccessControlEntryRecord().setId(new Uuid(0, 1)), quota("u1").setRemove(true),
            new RemoveUserScramCredentialRecord().setName("u1").setMechanism((byte) 1),
            new RemoveDelegationTokenRecord().setTokenId("t1"), new ProducerIdsRecord().setNextProducerId(2000)));
        int size = records.size() / PARTS + 1;
        List<Integer> ends = new ArrayList<>(List.of(0));
        for (int from = 0, end; from < records.size(); from = end) {
            end = Math.min(records.size(), from + size);
            while (end < records.size() && isChange(records.get(end - 1)) && isChange(records.get(end))) end++;
            askPart(ends.size() - 1, records.subList(from, end));
            ends.add(end);
        }
        beside.ask("image without an ELR", () -> {
            MetadataDelta cleared = new MetadataDelta.Builder().setImage(image).build();
            for (Uuid topic : image.topics().topicsById().keySet()) {
                cleared.replay(new PartitionChangeRecord().setTopicId(topic).setPartitionId(0));
            }
            cleared.replay(TourRelease.emptiesElrs());
            return whole(cleared.apply(MetadataProvenance.EMPTY));
        });
        RecordListWriter writer = new RecordListWriter();
        beside.ask("image of a snapshot", () -> {
            image.write(writer, new ImageWriterOptions.Builder(image).build());
            MetadataDelta read = new MetadataDelta.Builder().build();
            writer.records().forEach(record -> read.replay(record.message()));
            read.finishSnapshot();
            MetadataImage again = read.apply(MetadataProvenance.EMPTY);
            return whole(again).equals(whole(image)) + " " + rest(again).equals(rest(image));
        });
        List<String> lost = new ArrayList<>(), last = new ArrayList<>();
        for (ImageWriterOptions options : FuzzBeside.options(lost)) {
            beside.ask(FuzzVersions.OWN + "image of a snapshot by " + options.metadataVersion(), () -> {
                RecordListWriter written = new RecordListWriter();
                image.write(written, options);
                List<String> texts = written.records().stream().map(one -> beside.named(beside.text(one))).sorted().toList();
                List<String> added = texts.stream().filter(one -> !last.contains(one)).toList();
                last.clear();
                last.addAll(texts);
                return texts.size() + " " + added + " lost " + lost.stream().sorted().toList();
            });
            lost.clear();
        }
        MetadataDelta same = new MetadataDelta.Builder().setImage(image).build();
        writer.records().stream().filter(one -> one.message() instanceof PartitionRecord).forEach(one -> same.replay(one.message()));
        askTold(same, "of what it is already");
        beside.ask("image of a snapshot with less", () -> {
            MetadataDelta less = new MetadataDelta.Builder().setImage(image).build();
            records.subList(0, ends.get(1)).forEach(less::replay);
            less.finishSnapshot();
            return whole(less.apply(MetadataProvenance.EMPTY));
        });
        return writer.records().stream().map(ApiMessageAndVersion::message)
            .filter(record -> !kinds.contains(record.getClass())).toList();
    }

    /** Records that no manager of the driver has: of producers, of who may do what, of quotas and of passwords. */
    private static List<ApiMessage> others() {
        List<ApiMessage> records = new ArrayList<>(List.of(new ProducerIdsRecord().setNextProducerId(1000)));
        for (int n = 1; n < 3; n++) {
            records.add(new AccessControlEntryRecord().setId(new Uuid(0, n)).setResourceType((byte) 2).setResourceName("foo")
                .setPatternType((byte) (2 + n)).setPrincipal("User:u" + n).setHost("*").setOperation((byte) (2 + n))
                .setPermissionType((byte) (1 + n)));
            records.add(quota("u" + n));
            records.add(new UserScramCredentialRecord().setName("u" + n).setMechanism((byte) n).setSalt(new byte[] {1})
                .setStoredKey(new byte[] {2}).setServerKey(new byte[] {3}).setIterations(4096 + n));
            records.add(new DelegationTokenRecord().setTokenId("t" + n).setOwner("User:u" + n).setRequester("User:u2")
                .setRenewers(List.of("User:u1")).setIssueTimestamp(1).setMaxTimestamp(3).setExpirationTimestamp(n));
        }
        return records;
    }

    private static ClientQuotaRecord quota(String user) {
        EntityData entity = new EntityData().setEntityType("user").setEntityName(user);
        return new ClientQuotaRecord().setEntity(List.of(entity)).setKey("producer_byte_rate").setValue(9);
    }

    private static List<Object> rest(MetadataImage all) {
        return List.of(all.producerIds(), all.acls(), all.clientQuotas(), all.scram(), all.delegationTokens());
    }

    /** Such records of one request come in the order of ids that are drawn, so that no part ends between two. */
    private static boolean isChange(ApiMessage record) {
        return record instanceof PartitionChangeRecord;
    }

    private void askPart(int number, List<ApiMessage> part) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        beside.ask("image " + number, () -> {
            part.forEach(delta::replay);
            image = delta.apply(MetadataProvenance.EMPTY);
            return whole(image);
        });
        beside.ask("counted elections " + number, () -> {
            Map<String, Object> counts = new TreeMap<>();
            for (TopicDelta topic : delta.topicsDelta().changedTopics().values()) {
                for (String kind : List.of("partitionToElrElectionCount", "partitionToUncleanLeaderElectionCount")) {
                    counts.put(topic.name() + " " + kind, FuzzBeside.call(topic, kind));
                }
            }
            return beside.text(counts);
        });
        askTold(delta, String.valueOf(number));
        for (Method of : MetadataDelta.class.getMethods()) {
            if (of.getName().matches("(?!getOr).*Delta") && of.getParameterCount() == 0) askDelta(delta, of, number);
        }
    }

    /** What a part of the image says of what has changed in it, which publishers are told. */
    private void askDelta(MetadataDelta delta, Method part, int number) {
        Object changed = part.getReturnType() == boolean.class ? null : value(delta, part);
        for (Method method : changed == null ? new Method[0] : changed.getClass().getDeclaredMethods()) {
            Class<?> type = method.getReturnType();
            boolean says = Modifier.isPublic(method.getModifiers()) && method.getParameterCount() == 0
                && (Map.class.isAssignableFrom(type) || Collection.class.isAssignableFrom(type) || type == Optional.class);
            if (says && !method.getName().equals("changedTopics")) { // of which brokers are told above
                beside.ask(FuzzVersions.OWN + "delta " + part.getName() + " " + method.getName() + " " + number, () ->
                    beside.text(value(changed, method)).replaceAll("@[0-9a-f]+", ""));
            }
        }
    }

    private static Object value(Object of, Method method) {
        try {
            return method.invoke(of);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private void askTold(MetadataDelta delta, String by) {
        for (BrokerRegistration broker : delta.topicsDelta() == null ? List.<BrokerRegistration>of() : brokers) {
            beside.ask("told " + broker.id() + " " + by, () -> {
                LocalReplicaChanges told = delta.topicsDelta().localChanges(broker.id());
                return beside.text(List.of(told.deletes(), told.electedLeaders(), told.leaders(), told.followers(),
                    told.topicIds(), told.directoryIds()));
            });
        }
    }

    private String whole(MetadataImage all) {
        List<String> topics = new ArrayList<>(), configs = new ArrayList<>();
        for (TopicImage one : all.topics().topicsById().values()) {
            topics.add(beside.text(one.id()) + " " + one.name() + " " + beside.text(one.partitions()));
        }
        all.configs().resourceData().forEach((of, set) -> configs.add(of + " " + new TreeMap<>(set.toMap())));
        return all.features() + " " + beside.text(all.topics().topicNameToIdView()) + " " + beside.text(all.cluster().brokers()) + " " + beside.text(all.cluster().controllers())
            + " " + topics.stream().sorted().toList() + " " + configs.stream().sorted().toList() + " " + rest(all);
    }
}
