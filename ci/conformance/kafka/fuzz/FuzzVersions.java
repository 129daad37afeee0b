package org.apache.kafka.controller;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.FeatureVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * What is so in every state of a controller: versions of the metadata and of features, and what each record, and each
 * message that a controller answers, is in bytes. A question that begins with OWN may be one of the build alone: it says
 * nothing of what the release has too.
 */
final class FuzzVersions {
    static final String OWN = "own ";
    private static final int MANY_IDS = 2000;

    private final FuzzBeside beside;
    private final List<MetadataVersion> versions =
        Stream.of(MetadataVersion.VERSIONS).filter(MetadataVersion::isProduction).toList();

    FuzzVersions(FuzzBeside beside) {
        this.beside = beside;
    }

    void ask() throws ReflectiveOperationException {
        for (MetadataVersion version : versions) {
            askMethods(version, version.toString());
            for (MetadataVersion other : versions) {
                beside.ask(OWN + "metadata changed from " + version + " to " + other, () ->
                    MetadataVersion.checkIfMetadataChanged(version, other));
            }
        }
        for (Object feature : features()) askFeature(feature);
        for (MetadataRecordType type : MetadataRecordType.values()) {
            askBytes(type.name(), type.newMetadataRecord(), type.lowestSupportedVersion(), type.highestSupportedVersion());
        }
        for (ApiMessageType type : ApiMessageType.values()) {
            if (!type.listeners().contains(ApiMessageType.ListenerType.CONTROLLER)) continue;
            short first = type.lowestSupportedVersion(), last = type.highestSupportedVersion(true);
            askBytes(type.name() + " request", type.newRequest(), first, last);
            askBytes(type.name() + " response", type.newResponse(), first, last);
        }
        beside.ask("ids that begin with a dash", () ->
            IntStream.range(0, MANY_IDS).filter(n -> Uuid.randomUuid().toString().startsWith("-")).count());
    }

    /** What the public methods without a parameter answer. */
    private void askMethods(Object of, String name) {
        for (Method method : of.getClass().getDeclaredMethods()) {
            boolean asked = method.getParameterCount() == 0 && Modifier.isPublic(method.getModifiers());
            if (asked && !Modifier.isStatic(method.getModifiers())) {
                beside.ask(OWN + method.getName() + " of " + name, () -> FuzzBeside.call(of, method.getName()));
            }
        }
    }

    /** The features, but for those of Kafka's own tests. */
    private static List<?> features() throws ReflectiveOperationException {
        String line = "org.apache.kafka.server.common.Feature";
        Class<?> type;
        try {
            type = Class.forName(line);
        } catch (ClassNotFoundException e) {
            type = Class.forName(line + "s"); // before 4.0
        }
        return Stream.of(type.getEnumConstants()).filter(one -> !one.toString().contains("TEST")).toList();
    }

    private void askFeature(Object feature) throws ReflectiveOperationException {
        String name = feature.toString();
        for (MetadataVersion version : versions) {
            for (String method : List.of("defaultLevel", "defaultValue")) {
                beside.ask(OWN + method + " of " + name + " at " + version, () -> FuzzBeside.call(feature, method, version));
            }
        }
        for (FeatureVersion one : (FeatureVersion[]) feature.getClass().getMethod("featureVersions").invoke(feature)) {
            String of = name + " " + one.featureLevel();
            beside.ask(OWN + "feature " + of, () -> beside.text(List.of(
                one.featureName(), one.bootstrapMetadataVersion(), one.dependencies(),
                FuzzBeside.call(feature, "fromFeatureLevel", one.featureLevel(), false))));
            for (MetadataVersion version : versions) {
                Map<String, Short> known = new HashMap<>(Map.of(MetadataVersion.FEATURE_NAME, version.featureLevel()));
                beside.ask(OWN + "validateVersion of " + of + " at " + version, () ->
                    FuzzBeside.call(feature.getClass(), "validateVersion", one, known));
            }
        }
    }

    /** What an empty message is in bytes by each version, and one in which one field says something. */
    private void askBytes(String name, ApiMessage empty, short first, short last) throws ReflectiveOperationException {
        for (Map.Entry<String, Object> one : values(empty.getClass()).entrySet()) {
            for (short version = first; version <= last; version++) {
                short by = version;
                beside.ask(OWN + "bytes of " + name + one.getKey() + " by " + version, () ->
                    bytes((ApiMessage) one.getValue(), by, name.endsWith("_RECORD")));
            }
        }
    }

    private static String bytes(ApiMessage message, short version, boolean isRecord) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ApiMessageAndVersion record = new ApiMessageAndVersion(message, version);
        int size = isRecord ? MetadataRecordSerde.INSTANCE.recordSize(record, cache) : message.size(cache, version);
        ByteBuffer buffer = ByteBuffer.allocate(size);
        ByteBufferAccessor bytes = new ByteBufferAccessor(buffer);
        if (isRecord) MetadataRecordSerde.INSTANCE.write(record, cache, bytes);
        else message.write(bytes, cache, version);
        boolean isFull = !buffer.hasRemaining();
        CRC32 sum = new CRC32();
        sum.update(buffer.flip());
        buffer.flip();
        if (!isRecord) return size + " " + isFull + " " + sum.getValue() + FuzzBeside.reread(message, version);
        boolean isSame = MetadataRecordSerde.INSTANCE.read(bytes, size).equals(record);
        return size + " " + isFull + " " + sum.getValue() + " " + isSame;
    }

    /** Values of a type, by names: of a message one that is empty, and for each value of each field one that has it. */
    private static Map<String, Object> values(Type type) throws ReflectiveOperationException {
        Class<?> raw = (Class<?>) (type instanceof ParameterizedType of ? of.getRawType() : type);
        Map<String, Object> found = new LinkedHashMap<>();
        if (raw == boolean.class) found.put("", true);
        else if (raw == byte.class || raw == Byte.class) found.put("", (byte) 7);
        else if (raw == short.class || raw == Short.class) found.put("", (short) 7);
        else if (raw == int.class || raw == Integer.class) found.put("", 7);
        else if (raw == long.class || raw == Long.class) found.put("", 7L);
        else if (raw == double.class || raw == Double.class) found.put("", 7.0);
        else if (raw == String.class) found.put("", "a");
        else if (raw == Uuid.class) found.put("", new Uuid(1, 7));
        else if (raw == byte[].class) found.put("", new byte[] {7});
        else if (raw == ByteBuffer.class) found.put("", ByteBuffer.wrap(new byte[] {7}));
        else if (Message.class.isAssignableFrom(raw)) found.putAll(messages(raw));
        else if (Collection.class.isAssignableFrom(raw)) found.putAll(lists(raw, type));
        if (!raw.isPrimitive() && !Message.class.isAssignableFrom(raw)) found.put(" null", null);
        return found;
    }

    private static Map<String, Object> messages(Class<?> raw) throws ReflectiveOperationException {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("", raw.getConstructor().newInstance());
        for (Method set : Stream.of(raw.getDeclaredMethods()).sorted(Comparator.comparing(Method::getName)).toList()) {
            String name = set.getName();
            if (!name.startsWith("set") || set.getParameterCount() != 1 || List.of("setPrev", "setNext").contains(name)) continue;
            for (Map.Entry<String, Object> value : values(set.getGenericParameterTypes()[0]).entrySet()) {
                Object one = raw.getConstructor().newInstance();
                set.invoke(one, value.getValue());
                found.put(" " + name.substring(3) + value.getKey(), one);
            }
        }
        return found;
    }

    /** Lists of one; those that find their members by keys say of what they are in what they extend. */
    private static Map<String, Object> lists(Class<?> raw, Type type) throws ReflectiveOperationException {
        Type of = type instanceof ParameterizedType ? type : raw.getGenericSuperclass();
        Map<String, Object> found = new LinkedHashMap<>();
        for (Map.Entry<String, Object> member : values(((ParameterizedType) of).getActualTypeArguments()[0]).entrySet()) {
            if (member.getValue() == null) continue;
            @SuppressWarnings("unchecked") Collection<Object> list =
                raw.isInterface() ? new ArrayList<>() : (Collection<Object>) raw.getConstructor().newInstance();
            list.add(member.getValue());
            found.put(member.getKey(), list);
        }
        return found;
    }
}
