package org.apache.kafka.controller;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Constructor;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.InvalidReplicaDirectoriesException;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.placement.PartitionAssignment;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.apache.kafka.timeline.TimelineHashMap;

/**
 * Asks Kafka's own classes, many questions at a time: rows of 32-bit ints in, rows of 32-bit ints out.
 *
 * Arguments: the check, the number of slots of a list, the metadata version (or "latest"). Columns are described in
 * columns.py. Lists have a fixed number of slots, vacant ones hold -1; sets are bit masks, written only where the list
 * ascends.
 */
public final class ConformanceDriver {
    static final int VACANT = -1;
    static final int EMPTY = -2;
    static final int KEEP = -2;
    static final int NOT_ASCENDING = 1 << 30;
    static final int TWO_OR_MORE = 1 << 29;
    static final int SET_DIRECTORY = 20;
    static final int DEFAULT_DIRECTORY = 10;
    static final int OWN_DIRECTORY = 3;
    static final int NO_RECORD = 0;
    static final int RECORD = 1;
    static final int THROWN = 2;
    /** Rows that one thread answers before it takes others. */
    static final int BLOCK = 1024;
    static final Uuid TOPIC = new Uuid(1, 1);
    static final PartitionChangeBuilder.Election[] ELECTIONS = {
        PartitionChangeBuilder.Election.ONLINE,
        PartitionChangeBuilder.Election.PREFERRED,
        PartitionChangeBuilder.Election.UNCLEAN
    };

    private ConformanceDriver() { }

    public static void main(String[] args) throws Exception {
        int slots = Integer.parseInt(args[1]);
        Check check = checkOf(args[0], slots, metadataVersion(args[2]));
        DriverRows.blocks(check.inputs, check.outputs, (rows, asked, answers) -> answer(check, rows, asked, answers));
    }

    static Check checkOf(String name, int slots, MetadataVersion version) {
        switch (name) {
            case "change": return new ChangeCheck(slots, version);
            case "merge": return new MergeCheck(slots);
            case "reassignment": return new ReassignmentCheck(slots);
            case "registration": return new RegistrationCheck();
            case "ordered": return new OrderedCheck(slots, version);
            case "hash-set": return new HashSetCheck(slots);
            case "timeline-map": return new TimelineMapCheck(slots);
            default: throw new IllegalArgumentException("unknown check " + name);
        }
    }

    static MetadataVersion metadataVersion(String name) {
        return name.equals("latest") ? MetadataVersion.LATEST_PRODUCTION : MetadataVersion.valueOf(name);
    }

    static void answer(Check check, int rows, IntBuffer asked, IntBuffer answers) {
        IntStream.range(0, (rows + BLOCK - 1) / BLOCK).parallel().forEach(block -> {
            int[] given = new int[check.inputs];
            int[] found = new int[check.outputs];
            IntBuffer from = asked.duplicate().position(block * BLOCK * given.length);
            IntBuffer to = answers.duplicate().position(block * BLOCK * found.length);
            Reader reader = new Reader(given);
            Writer writer = new Writer(found);
            for (int row = block * BLOCK; row < Math.min(rows, (block + 1) * BLOCK); row++) {
                from.get(given);
                reader.restart();
                writer.restart();
                check.run(reader, writer);
                to.put(found);
            }
        });
    }

    /** A check: how many columns a question and an answer have, with so many slots of a list, and the answer. */
    abstract static class Check {
        final int slots;
        final int inputs;
        final int outputs;

        Check(int slots, int inputs, int outputs) {
            this.slots = slots;
            this.inputs = inputs;
            this.outputs = outputs;
        }

        abstract void run(Reader given, Writer found);
    }

    static final class Reader {
        private final int[] values;
        private int at = 0;

        Reader(int[] values) {
            this.values = values;
        }

        int next() {
            return values[at++];
        }

        boolean flag() {
            return next() != 0;
        }

        List<Integer> list(int slots) {
            List<Integer> result = new ArrayList<>(slots);
            for (int i = 0; i < slots; i++) {
                int value = next();
                if (value != VACANT) result.add(value);
            }
            return result;
        }

        int[] ints(int slots) {
            int size = 0;
            for (int i = at; i < at + slots; i++) {
                if (values[i] != VACANT) size++;
            }
            int[] result = new int[size];
            int filled = 0;
            for (int i = 0; i < slots; i++) {
                int value = next();
                if (value != VACANT) result[filled++] = value;
            }
            return result;
        }

        void restart() {
            at = 0;
        }

        List<Integer> set() {
            return DriverRows.members(next());
        }
    }

    static final class Writer {
        private final int[] values;
        private int at = 0;

        Writer(int[] values) {
            this.values = values;
        }

        void put(int value) {
            values[at++] = value;
        }

        void put(boolean value) {
            put(value ? 1 : 0);
        }

        void list(List<Integer> list, int slots) {
            list(unboxed(list), slots);
        }

        void list(int[] list, int slots) {
            for (int i = 0; i < slots; i++) {
                put(i < list.length ? list[i] : VACANT);
            }
            if (list.length > slots) throw new IllegalStateException("no slots for " + Arrays.toString(list));
        }

        void set(int[] list) {
            int mask = 0;
            int last = -1;
            for (int broker : list) {
                mask |= 1 << broker;
                if (broker <= last) mask |= NOT_ASCENDING;
                last = broker;
            }
            put(mask);
        }

        void set(List<Integer> list) {
            set(unboxed(list));
        }

        void maybeList(List<Integer> list, int slots) {
            put(list != null);
            list(list == null ? List.of() : list, slots);
        }

        void maybeDirectories(List<Uuid> directories, int slots) {
            maybeList(directories == null ? null : boxed(numbers(directories.toArray(new Uuid[0]))), slots);
        }

        void maybeSet(List<Integer> list) {
            put(list != null);
            set(list == null ? List.of() : list);
        }

        void atMostOne(int[] list) {
            put(list.length == 0 ? EMPTY : list.length == 1 ? list[0] : TWO_OR_MORE);
        }

        void atMostOne(List<Integer> list) {
            atMostOne(unboxed(list));
        }

        void restart() {
            Arrays.fill(values, 0);
            at = 0;
        }
    }

    static boolean has(int mask, int broker) {
        return broker >= 0 && (mask >> broker & 1) != 0;
    }

    static int[] membersOf(int mask) {
        int[] result = new int[Integer.bitCount(mask)];
        int filled = 0;
        for (int left = mask; left != 0; left &= left - 1) {
            result[filled++] = Integer.numberOfTrailingZeros(left);
        }
        return result;
    }

    static Uuid directory(int number) {
        return number == 0 ? Uuid.ZERO_UUID : new Uuid(7, number);
    }

    /** Where replicas are: each in a directory of its own, or in none that is known. */
    static Uuid[] directories(int[] replicas, boolean placed) {
        return Arrays.stream(replicas).mapToObj(one -> directory(placed ? OWN_DIRECTORY + one : 0)).toArray(Uuid[]::new);
    }

    static int[] numbers(Uuid[] directories) {
        int[] result = new int[directories.length];
        for (int i = 0; i < directories.length; i++) {
            result[i] = (int) directories[i].getLeastSignificantBits();
        }
        return result;
    }

    static List<Integer> boxed(int[] values) {
        List<Integer> result = new ArrayList<>(values.length);
        for (int value : values) {
            result.add(value);
        }
        return result;
    }

    static int[] unboxed(List<Integer> values) {
        int[] result = new int[values.size()];
        for (int i = 0; i < result.length; i++) {
            result[i] = values.get(i);
        }
        return result;
    }

    /** A partition as rows hold it; epochs start at 0. */
    static PartitionRegistration partition(Reader given, int slots) {
        int[] replicas = given.ints(slots);
        int[] isr = given.ints(slots);
        int[] elr = given.ints(slots);
        int lastKnown = given.next();
        int[] removing = membersOf(given.next());
        int[] adding = membersOf(given.next());
        int leader = given.next();
        boolean recovering = given.flag();
        boolean placed = given.flag();
        return new PartitionRegistration.Builder()
            .setReplicas(replicas)
            .setDirectories(directories(replicas, placed))
            .setIsr(isr)
            .setElr(elr)
            .setLastKnownElr(lastKnown == EMPTY ? new int[0] : new int[] {lastKnown})
            .setRemovingReplicas(removing)
            .setAddingReplicas(adding)
            .setLeader(leader)
            .setLeaderRecoveryState(recovering ? LeaderRecoveryState.RECOVERING : LeaderRecoveryState.RECOVERED)
            .setLeaderEpoch(0)
            .setPartitionEpoch(0)
            .build();
    }

    static void write(PartitionRegistration p, Writer found, int slots) {
        found.put(p.leader);
        found.put(p.leaderEpoch);
        found.put(p.partitionEpoch);
        found.put(p.leaderRecoveryState == LeaderRecoveryState.RECOVERING);
        found.list(p.isr, slots);
        found.list(p.replicas, slots);
        found.list(numbers(p.directories), slots);
        found.list(p.elr, slots);
        found.atMostOne(p.lastKnownElr);
        found.set(p.removingReplicas);
        found.set(p.addingReplicas);
    }

    /** One change build, then the replay of its record. */
    static final class ChangeCheck extends Check {
        private static final MethodHandle NEW_BUILDER;
        private static final MethodHandle SET_ELR;

        static {
            try {
                Constructor<?> made = PartitionChangeBuilder.class.getConstructors()[0];
                boolean takesElr = made.getParameterCount() > 6;
                Class<?>[] given = {PartitionRegistration.class, Uuid.class, int.class, IntPredicate.class,
                    MetadataVersion.class, int.class, boolean.class};
                if (!Arrays.equals(made.getParameterTypes(), Arrays.copyOf(given, takesElr ? 7 : 6))) {
                    throw new IllegalArgumentException("no driver knows what to give to " + made);
                }
                MethodHandles.Lookup lookup = MethodHandles.lookup();
                NEW_BUILDER = lookup.unreflectConstructor(made);
                SET_ELR = takesElr ? null : lookup.unreflect(
                    PartitionChangeBuilder.class.getMethod("setEligibleLeaderReplicasEnabled", boolean.class));
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }

        private final MetadataVersion version;

        ChangeCheck(int slots, MetadataVersion version) {
            super(slots, 5 * slots + 15, 3 + 4 * (1 + slots) + 6 + 4 + 4 * slots + 3);
            this.version = version;
        }

        static PartitionChangeBuilder builder(
            PartitionRegistration p, IntPredicate acceptable, MetadataVersion version, int minIsr, boolean elr
        ) throws Throwable {
            if (SET_ELR == null) {
                return (PartitionChangeBuilder) NEW_BUILDER.invoke(p, TOPIC, 0, acceptable, version, minIsr, elr);
            }
            PartitionChangeBuilder made =
                (PartitionChangeBuilder) NEW_BUILDER.invoke(p, TOPIC, 0, acceptable, version, minIsr);
            return (PartitionChangeBuilder) SET_ELR.invoke(made, elr);
        }

        void run(Reader given, Writer found) {
            try {
                PartitionRegistration p = partition(given, slots);
                int acceptable = given.next();
                int minIsr = given.next();
                int election = given.next();
                boolean elr = given.flag();
                PartitionChangeBuilder builder = builder(p, b -> has(acceptable, b), version, minIsr, elr)
                    .setElection(ELECTIONS[election])
                    .setDefaultDirProvider(b -> directory(DEFAULT_DIRECTORY + b))
                    .setTargetIsr(given.list(slots))
                    .setTargetReplicas(given.list(slots))
                    .setTargetRemoving(given.set())
                    .setTargetAdding(given.set())
                    .setTargetLeaderRecoveryState(
                        given.flag() ? LeaderRecoveryState.RECOVERING : LeaderRecoveryState.RECOVERED)
                    .setUncleanShutdownReplicas(given.set());
                int assigned = given.next();
                if (assigned != VACANT) {
                    builder.setDirectory(assigned, directory(SET_DIRECTORY));
                }
                Optional<ApiMessageAndVersion> built = builder.build();
                PartitionChangeRecord record = built.isPresent()
                    ? (PartitionChangeRecord) built.get().message()
                    : new PartitionChangeRecord();
                write(record, built.isPresent(), found);
                ConformanceDriver.write(built.isPresent() ? p.merge(record) : p, found, slots);
            } catch (Throwable e) {
                found.restart();
                found.put(THROWN);
                found.put(e.getClass().getSimpleName().hashCode());
            }
        }

        private void write(PartitionChangeRecord record, boolean present, Writer found) {
            found.put(present ? RECORD : NO_RECORD);
            found.put(record.leader());
            found.put(record.leaderRecoveryState());
            found.maybeList(record.isr(), slots);
            found.maybeList(record.replicas(), slots);
            found.maybeDirectories(record.directories(), slots);
            found.maybeList(record.eligibleLeaderReplicas(), slots);
            found.put(record.lastKnownElr() != null);
            found.atMostOne(record.lastKnownElr() == null ? List.of() : record.lastKnownElr());
            found.maybeSet(record.removingReplicas());
            found.maybeSet(record.addingReplicas());
        }
    }

    /** One change build with any ids: brokers are places in the row's ascending list of ids. */
    static final class OrderedCheck extends Check {
        private final MetadataVersion version;

        OrderedCheck(int slots, MetadataVersion version) {
            super(slots, slots + 1 + 6 * slots + 14, 3 + 5 * (1 + slots) + 4);
            this.version = version;
        }

        void run(Reader given, Writer found) {
            int[] ids = new int[slots];
            for (int i = 0; i < slots; i++) {
                ids[i] = given.next();
            }
            try {
                boolean balanced = given.flag();
                int[] replicas = given.ints(slots);
                int[] isr = given.ints(slots);
                int[] elr = given.ints(slots);
                int[] lastKnown = given.ints(slots);
                int[] removing = membersOf(given.next());
                int[] adding = membersOf(given.next());
                int leader = given.next();
                boolean recovering = given.flag();
                boolean placed = given.flag();
                PartitionRegistration p = new PartitionRegistration.Builder()
                    .setReplicas(named(replicas, ids)).setDirectories(directories(replicas, placed)).setIsr(named(isr, ids))
                    .setElr(named(elr, ids)).setLastKnownElr(named(lastKnown, ids))
                    .setRemovingReplicas(named(removing, ids)).setAddingReplicas(named(adding, ids))
                    .setLeader(leader < 0 ? leader : ids[leader])
                    .setLeaderRecoveryState(recovering ? LeaderRecoveryState.RECOVERING : LeaderRecoveryState.RECOVERED)
                    .setLeaderEpoch(0).setPartitionEpoch(0).build();
                int acceptable = given.next();
                int minIsr = given.next();
                int election = given.next();
                boolean elrOn = given.flag();
                PartitionChangeBuilder builder = ChangeCheck.builder(
                        p, b -> has(acceptable, placeOf(b, ids)), version, minIsr, elrOn)
                    .setElection(ELECTIONS[election])
                    .setUseLastKnownLeaderInBalancedRecovery(balanced)
                    .setDefaultDirProvider(b -> directory(DEFAULT_DIRECTORY + placeOf(b, ids)))
                    .setTargetIsr(boxed(named(given.ints(slots), ids)))
                    .setTargetReplicas(boxed(named(given.ints(slots), ids)))
                    .setTargetRemoving(boxed(named(membersOf(given.next()), ids)))
                    .setTargetAdding(boxed(named(membersOf(given.next()), ids)))
                    .setTargetLeaderRecoveryState(
                        given.flag() ? LeaderRecoveryState.RECOVERING : LeaderRecoveryState.RECOVERED)
                    .setUncleanShutdownReplicas(boxed(named(membersOf(given.next()), ids)));
                int assigned = given.next();
                if (assigned != VACANT) {
                    builder.setDirectory(ids[assigned], directory(SET_DIRECTORY));
                }
                Optional<ApiMessageAndVersion> built = builder.build();
                write(built.isPresent() ? (PartitionChangeRecord) built.get().message() : new PartitionChangeRecord(),
                    built.isPresent(), ids, found);
            } catch (Throwable e) {
                found.restart();
                found.put(THROWN);
                found.put(e.getClass().getSimpleName().hashCode());
            }
        }

        private void write(PartitionChangeRecord record, boolean present, int[] ids, Writer found) {
            found.put(present ? RECORD : NO_RECORD);
            found.put(record.leader() < 0 ? record.leader() : placeOf(record.leader(), ids));
            found.put(record.leaderRecoveryState());
            found.maybeList(places(record.isr(), ids), slots);
            found.maybeList(places(record.replicas(), ids), slots);
            found.maybeDirectories(record.directories(), slots);
            found.maybeList(places(record.eligibleLeaderReplicas(), ids), slots);
            found.maybeList(places(record.lastKnownElr(), ids), slots);
            found.maybeSet(places(record.removingReplicas(), ids));
            found.maybeSet(places(record.addingReplicas(), ids));
        }

        /** The ids of places; the place EMPTY stands for the id -1. */
        private static int[] named(int[] places, int[] ids) {
            return Arrays.stream(places).map(place -> place == EMPTY ? -1 : ids[place]).toArray();
        }

        private static List<Integer> places(List<Integer> brokers, int[] ids) {
            return brokers == null ? null : brokers.stream().map(b -> placeOf(b, ids)).toList();
        }

        private static int placeOf(int broker, int[] ids) {
            if (broker == -1) {
                return EMPTY;
            }
            int place = Arrays.binarySearch(ids, broker);
            if (place < 0) throw new IllegalStateException("no place for broker " + broker);
            return place;
        }
    }

    /** What java.util.HashSet lists: made of the first ids, to which the others are added. */
    static final class HashSetCheck extends Check {
        HashSetCheck(int slots) {
            super(slots, 2 + slots, 1 + slots);
        }

        void run(Reader given, Writer found) {
            int listed = given.next();
            int added = given.next();
            List<Integer> ids = new ArrayList<>();
            for (int i = 0; i < listed; i++) {
                ids.add(given.next());
            }
            HashSet<Integer> set = new HashSet<>(ids);
            for (int i = 0; i < added; i++) {
                set.add(given.next());
            }
            found.put(set.size());
            set.forEach(found::put);
        }
    }

    /** The first value that Kafka's map of partitions lists, after keys are put in this order. */
    static final class TimelineMapCheck extends Check {
        TimelineMapCheck(int slots) {
            super(slots, 1 + slots, 1);
        }

        void run(Reader given, Writer found) {
            TimelineHashMap<Integer, Integer> map = new TimelineHashMap<>(registry(), 0);
            for (int left = given.next(); left > 0; left--) {
                int key = given.next();
                map.put(key, key);
            }
            found.put(map.values().iterator().next());
        }

        /** A registry; the class of its argument moved to another package in 4.4. */
        private static SnapshotRegistry registry() {
            try {
                Constructor<?> made = SnapshotRegistry.class.getConstructors()[0];
                return (SnapshotRegistry) made.newInstance(made.getParameterTypes()[0].getConstructor().newInstance());
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** The replay of a record with any fields, also such as no builder writes. */
    static final class MergeCheck extends Check {
        MergeCheck(int slots) {
            super(slots, 3 * slots + 6 + 2 + 4 * (1 + slots) + 6, 1 + 7 + 4 * slots);
        }

        void run(Reader given, Writer found) {
            try {
                PartitionRegistration p = partition(given, slots);
                PartitionRegistration after = p.merge(record(given));
                found.put(RECORD);
                ConformanceDriver.write(after, found, slots);
            } catch (InvalidReplicaDirectoriesException | IllegalArgumentException e) {
                found.restart();
                found.put(THROWN);
            } catch (Throwable e) {
                found.restart();
                found.put(THROWN);
                found.put(e.getClass().getSimpleName().hashCode());
            }
        }

        private PartitionChangeRecord record(Reader given) {
            PartitionChangeRecord record = new PartitionChangeRecord()
                .setTopicId(TOPIC).setPartitionId(0)
                .setLeader(given.next())
                .setLeaderRecoveryState((byte) given.next())
                .setIsr(maybeList(given))
                .setReplicas(maybeList(given));
            List<Integer> directories = maybeList(given);
            if (directories != null) {
                record.setDirectories(directories.stream().map(ConformanceDriver::directory).toList());
            }
            record.setEligibleLeaderReplicas(maybeList(given));
            boolean known = given.flag();
            int last = given.next();
            return record
                .setLastKnownElr(!known ? null : last == EMPTY ? List.of() : List.of(last))
                .setRemovingReplicas(maybeSet(given))
                .setAddingReplicas(maybeSet(given));
        }

        private List<Integer> maybeList(Reader given) {
            boolean present = given.flag();
            List<Integer> list = given.list(slots);
            return present ? list : null;
        }

        private static List<Integer> maybeSet(Reader given) {
            boolean present = given.flag();
            List<Integer> set = given.set();
            return present ? set : null;
        }
    }

    /** Planning a reassignment, ending it, and reverting it. */
    static final class ReassignmentCheck extends Check {
        ReassignmentCheck(int slots) {
            super(slots, 4 * slots + 6, 6 * slots + 6);
        }

        void run(Reader given, Writer found) {
            try {
                PartitionRegistration p = partition(given, slots);
                List<Integer> target = given.list(slots);
                PartitionReassignmentReplicas plan = new PartitionReassignmentReplicas(
                    new PartitionAssignment(boxed(p.replicas), b -> directory(DEFAULT_DIRECTORY + b)),
                    new PartitionAssignment(target, b -> directory(DEFAULT_DIRECTORY + b)));
                found.set(plan.removing());
                found.set(plan.adding());
                found.list(plan.replicas(), slots);
                PartitionReassignmentReplicas running = new PartitionReassignmentReplicas(
                    boxed(p.removingReplicas), boxed(p.addingReplicas), boxed(p.replicas));
                found.put(PartitionReassignmentReplicas.isReassignmentInProgress(p));
                completed(running, boxed(p.isr), found);
                found.list(running.originalReplicas(), slots);
                reverted(p, found);
            } catch (Throwable e) {
                found.restart();
                found.put(THROWN | NOT_ASCENDING);
                found.put(e.getClass().getSimpleName().hashCode());
            }
        }

        private void completed(PartitionReassignmentReplicas running, List<Integer> isr, Writer found)
                throws ReflectiveOperationException {
            Optional<PartitionReassignmentReplicas.CompletedReassignment> end = running.maybeCompleteReassignment(isr);
            found.put(end.isPresent());
            found.list(end.isPresent() ? listOf(end.get(), "replicas") : List.of(), slots);
            found.list(end.isPresent() ? listOf(end.get(), "isr") : List.of(), slots);
        }

        /** A field of a class, or a component of a record, which it is from 4.2 on. */
        @SuppressWarnings("unchecked")
        private static List<Integer> listOf(Object completed, String name) throws ReflectiveOperationException {
            java.lang.reflect.Field field = completed.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return (List<Integer>) field.get(completed);
        }

        private void reverted(PartitionRegistration p, Writer found) {
            List<Integer> replicas = List.of();
            List<Integer> isr = List.of();
            boolean unclean = false;
            boolean possible = true;
            try {
                PartitionReassignmentRevert revert = new PartitionReassignmentRevert(p);
                replicas = revert.replicas();
                isr = revert.isr();
                unclean = revert.unclean();
            } catch (org.apache.kafka.common.errors.InvalidReplicaAssignmentException e) {
                possible = false;
            }
            found.put(possible);
            found.list(replicas, slots);
            found.list(isr, slots);
            found.put(unclean);
        }
    }

    /** A broker's registration changed by a record, then asked about its directories. */
    static final class RegistrationCheck extends Check {
        /** What a record may change: fenced, controlled shutdown, directories, and from 4.3 on cordoned ones. */
        private static final int MOST_CHANGES = 4;
        private static final java.lang.reflect.Method CLONE_WITH =
            Arrays.stream(BrokerRegistration.class.getMethods())
                .filter(method -> method.getName().equals("cloneWith")).findFirst().orElseThrow();

        RegistrationCheck() {
            super(0, 8, 6);
            Class<?>[] types = CLONE_WITH.getParameterTypes();
            if (types.length > MOST_CHANGES || !Arrays.stream(types).allMatch(type -> type == Optional.class)) {
                throw new IllegalArgumentException("no driver knows what to give to " + CLONE_WITH);
            }
        }

        private static List<Uuid> directories(int mask) {
            List<Uuid> result = new ArrayList<>();
            DriverRows.members(mask).forEach(number -> result.add(directory(OWN_DIRECTORY + number)));
            return result;
        }

        private static List<Integer> own(List<Uuid> directories) {
            List<Integer> result = boxed(numbers(directories.toArray(new Uuid[0])));
            result.replaceAll(number -> number - OWN_DIRECTORY);
            return result;
        }

        void run(Reader given, Writer found) {
            try {
                BrokerRegistration before = new BrokerRegistration.Builder()
                    .setId(0).setEpoch(7).setIncarnationId(new Uuid(3, 3))
                    .setDirectories(directories(given.next()))
                    .setFenced(given.flag())
                    .setInControlledShutdown(given.flag())
                    .build();
                int fencing = given.next();
                boolean leaves = given.flag();
                int changed = given.next();
                // As ClusterControlManager does: a record whose list is empty changes no directory.
                Object[] changes = new Object[CLONE_WITH.getParameterCount()];
                Arrays.fill(changes, Optional.empty());
                changes[0] = fencing == 0 ? Optional.empty() : Optional.of(fencing == 1);
                changes[1] = leaves ? Optional.of(true) : Optional.empty();
                changes[2] = changed <= 0 ? Optional.empty() : Optional.of(directories(changed));
                BrokerRegistration after = (BrokerRegistration) CLONE_WITH.invoke(before, changes);
                List<Uuid> others = directories(given.next());
                int asked = given.next();
                found.put(after.fenced());
                found.put(after.inControlledShutdown());
                found.set(own(after.directories()));
                found.put(after.hasOnlineDir(asked < OWN_DIRECTORY ? new Uuid(0, asked) : directory(asked)));
                found.set(own(after.directoryIntersection(others)));
                found.set(own(after.directoryDifference(others)));
            } catch (Throwable e) {
                found.restart();
                found.put(THROWN | NOT_ASCENDING);
                found.put(e.getClass().getSimpleName().hashCode());
            }
        }
    }
}
