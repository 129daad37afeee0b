import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.stream.IntStream;
import org.jacoco.core.analysis.Analyzer;
import org.jacoco.core.analysis.CoverageBuilder;
import org.jacoco.core.analysis.IClassCoverage;
import org.jacoco.core.analysis.ICounter;
import org.jacoco.core.analysis.IMethodCoverage;
import org.jacoco.core.tools.ExecFileLoader;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.IincInsnNode;
import org.objectweb.asm.tree.IntInsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.LineNumberNode;
import org.objectweb.asm.tree.LookupSwitchInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.MultiANewArrayInsnNode;
import org.objectweb.asm.tree.TableSwitchInsnNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * The lines of a build that are not as released, and that nothing has run.
 *
 * <p>Arguments: the file of what has run, the class path of the build, that of the release; names of classes on
 * standard input. For each changed method of which some changed line has not run: its class, its name, and these lines,
 * between tabs, a mark behind one of which a part has run; line 0 stands for a method without numbers of lines. Lines of the release that are gone and that it has not
 * run either come with a minus. A class that the release alone has has neither a method nor lines; where another thing than
 * a method is changed the name is that of the thing, and it cannot run. A class of which any code differs has a row with "=".
 */
public final class Unrun {
    private static final long MOST = 25_000_000; // cells of a table of common code; beyond it all of a method is changed

    private static final String PART = "?"; // how a line ends of which a part has run

    private final Map<String, JarFile> jars = new HashMap<>();

    public static void main(String[] args) throws IOException {
        Unrun unrun = new Unrun();
        ExecFileLoader ran = new ExecFileLoader();
        if (new File(args[0]).exists()) {
            ran.load(new File(args[0]));
        }
        BufferedReader names = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String name = names.readLine(); name != null; name = names.readLine()) {
            unrun.tell(name, ran, args[1], args[2]);
        }
    }

    private void tell(String name, ExecFileLoader ran, String build, String release) throws IOException {
        byte[] own = bytes(name, build);
        byte[] other = bytes(name, release);
        if (own == null) {
            print(name, "", List.of());
            return;
        }
        ClassNode node = read(own, name);
        ClassNode released = other == null ? null : read(other, name);
        if (released != null) {
            tellOfClass(name, node, released);
        }
        boolean madeByCompiler = (node.access & Opcodes.ACC_SYNTHETIC) != 0;
        Map<String, IMethodCoverage> counted = counted(ran, own, name);
        Map<String, IMethodCoverage> formerly = other == null ? Map.of() : counted(ran, other, name);
        Map<String, Code> before = released == null ? Map.of() : codes(released);
        Map<String, Code> after = codes(node);
        for (Map.Entry<String, Code> entry : after.entrySet()) {
            IMethodCoverage method = counted.get(entry.getKey());
            Code code = entry.getValue();
            Code former = before.get(entry.getKey());
            if (before.values().stream().anyMatch(code::isSame)) {
                continue;
            }
            print(name, "=", List.of());
            if (method == null) { // what a compiler adds is not counted
                if (madeByCompiler && former != null && !code.cases().containsAll(former.cases())) {
                    print(name, code.name, List.of(0));
                }
                continue;
            }
            TreeSet<Integer> changed = code.changed(former);
            Collection<String> left = unrun(method, code, changed);
            print(name, code.name, left);
            if (left == null && former != null && formerly.containsKey(entry.getKey())) {
                print(name, code.name, negated(unrun(formerly.get(entry.getKey()), former, code.removed(former))));
            }
            for (int at : changed) {
                String lambda = code.lambdas.get(at);
                Code body = after.get(lambda);
                if (counted.containsKey(lambda) && before.values().stream().anyMatch(body::isSame)) { // it is used in another's place
                    print(name, body.name, unrun(counted.get(lambda), body, body.all()));
                }
            }
        }
        before.forEach((key, code) -> {
            if (after.values().stream().noneMatch(code::isSame)) {
                print(name, "=", List.of());
            }
            if (!after.containsKey(key) && formerly.containsKey(key) && after.values().stream().noneMatch(code::isSame)) {
                print(name, code.name, negated(unrun(formerly.get(key), code, code.all())));
            }
        });
    }

    /** What has run of each method of a class. */
    private static Map<String, IMethodCoverage> counted(ExecFileLoader ran, byte[] bytes, String name) throws IOException {
        CoverageBuilder found = new CoverageBuilder();
        new Analyzer(ran.getExecutionDataStore(), found).analyzeClass(bytes, name);
        Map<String, IMethodCoverage> counted = new HashMap<>();
        for (IClassCoverage one : found.getClasses()) {
            for (IMethodCoverage method : one.getMethods()) {
                counted.put(method.getName() + method.getDesc(), method);
            }
        }
        return counted;
    }

    private static Collection<?> negated(Collection<?> lines) {
        return lines == null ? null : lines.stream().map(line -> "-" + line).toList();
    }

    /** Of some instructions the lines of which something has not run, or went one way only; in part where some has run. */
    private static Collection<String> unrun(IMethodCoverage method, Code code, TreeSet<Integer> places) {
        List<String> lines = new ArrayList<>();
        for (int line : new TreeSet<>(places.stream().map(code.lines::get).toList())) {
            ICounter run = line == 0 ? method.getInstructionCounter() : method.getLine(line).getInstructionCounter();
            ICounter ways = line == 0 ? method.getBranchCounter() : method.getLine(line).getBranchCounter();
            if (run.getMissedCount() + ways.getMissedCount() > 0) {
                lines.add(line + (run.getCoveredCount() > 0 ? PART : ""));
            }
        }
        return lines.isEmpty() ? null : lines;
    }

    private static void print(String name, String what, Collection<?> lines) {
        if (lines != null) {
            System.out.println(name + "\t" + what + "\t" + String.join(",", lines.stream().map(String::valueOf).toList()));
        }
    }

    /** What is inherited, and what threads see of fields and methods: no run of one thread shows it. */
    private static void tellOfClass(String name, ClassNode own, ClassNode released) {
        if (!own.superName.equals(released.superName) || !own.interfaces.containsAll(released.interfaces)) {
            print(name, "parents", List.of(0));
        }
        Map<String, FieldNode> fields = new HashMap<>();
        own.fields.forEach(field -> fields.put(field.name, field));
        for (FieldNode field : released.fields) {
            FieldNode now = fields.getOrDefault(field.name, field);
            if ((field.access & ~now.access & Opcodes.ACC_VOLATILE) != 0 || !Objects.equals(field.value, now.value)) {
                print(name, field.name, List.of(0));
            }
        }
        Map<String, Integer> methods = new HashMap<>();
        own.methods.forEach(method -> methods.put(method.name + method.desc, method.access));
        for (MethodNode method : released.methods) {
            int access = methods.getOrDefault(method.name + method.desc, -1);
            if ((method.access & ~access & Opcodes.ACC_SYNCHRONIZED) != 0) {
                print(name, method.name, List.of(0));
            }
        }
    }

    private static ClassNode read(byte[] bytes, String name) throws IOException {
        ClassNode node = new ClassNode();
        try {
            new ClassReader(bytes).accept(node, ClassReader.SKIP_FRAMES);
        } catch (RuntimeException e) {
            throw new IOException("Error while analyzing " + name, e); // as JaCoCo says it
        }
        return node;
    }

    /** The bytes of a class, of the first entry of a class path that has it; null where none has. */
    private byte[] bytes(String name, String classPath) throws IOException {
        String member = name.replace('.', '/') + ".class";
        for (String place : classPath.split(File.pathSeparator)) {
            Path path = Path.of(place);
            if (Files.isDirectory(path)) {
                if (Files.exists(path.resolve(member))) {
                    return Files.readAllBytes(path.resolve(member));
                }
                continue;
            }
            JarFile jar = jars.get(place);
            if (jar == null) {
                jar = new JarFile(path.toFile());
                jars.put(place, jar);
            }
            if (jar.getEntry(member) != null) {
                return jar.getInputStream(jar.getEntry(member)).readAllBytes();
            }
        }
        return null;
    }

    private static Map<String, Code> codes(ClassNode node) {
        Map<String, Code> found = new LinkedHashMap<>();
        Map<String, String> bodies = new HashMap<>(); // what each lambda does
        for (MethodNode method : node.methods) {
            if (method.name.startsWith("lambda$")) {
                Code body = new Code(method, Map.of());
                bodies.put(method.name + method.desc, body.texts + " " + body.handlers);
            }
        }
        for (MethodNode method : node.methods) {
            if (method.instructions.size() > 0) {
                found.put(method.name + method.desc, new Code(method, bodies));
            }
        }
        return found;
    }

    /** What a method does: each instruction as text, its line, and where it may jump to. */
    private static final class Code {
        final String name;
        final String kind;
        final Map<Integer, String> lambdas = new HashMap<>(); // those of its class, by the instruction that makes them
        final List<String> texts = new ArrayList<>();
        final List<String> plain = new ArrayList<>(); // the same without what lambdas do
        final List<Integer> lines = new ArrayList<>();
        final List<int[]> jumps = new ArrayList<>();
        final List<String> handlers = new ArrayList<>();
        final List<Integer> slots = new ArrayList<>(); // of local variables; -1 of an instruction that is of none

        Code(MethodNode method, Map<String, String> bodies) {
            name = method.name;
            kind = plain(method.name) + method.desc + (method.access & ~0x20000);
            Map<LabelNode, Integer> places = new HashMap<>();
            int count = 0;
            for (AbstractInsnNode one : method.instructions) {
                if (one instanceof LabelNode label) {
                    places.put(label, count);
                } else if (one.getOpcode() >= 0) {
                    count++;
                }
            }
            int line = 0;
            for (AbstractInsnNode one : method.instructions) {
                if (one instanceof LineNumberNode number) {
                    line = number.line;
                } else if (one.getOpcode() >= 0) {
                    if (one instanceof InvokeDynamicInsnNode made) {
                        for (Object argument : made.bsmArgs) {
                            String lambda = argument instanceof Handle of ? of.getName() + of.getDesc() : "";
                            if (bodies.containsKey(lambda)) {
                                lambdas.put(texts.size(), lambda);
                            }
                        }
                    }
                    plain.add(text(one));
                    texts.add(text(one) + bodies.getOrDefault(lambdas.getOrDefault(texts.size(), ""), ""));
                    lines.add(line);
                    slots.add(one instanceof VarInsnNode of ? of.var : one instanceof IincInsnNode of ? of.var : -1);
                    jumps.add(targets(one).stream().mapToInt(places::get).toArray());
                }
            }
            for (TryCatchBlockNode one : method.tryCatchBlocks) {
                handlers.add(places.get(one.start) + " " + places.get(one.end) + " " + places.get(one.handler) + " " + one.type);
            }
        }

        boolean isSame(Code other) {
            boolean alike = kind.equals(other.kind) && texts.equals(other.texts) && handlers.equals(other.handlers);
            int[] itself = IntStream.range(0, texts.size()).toArray();
            for (int at = 0; alike && at < jumps.size(); at++) {
                alike = Arrays.equals(jumps.get(at), other.jumps.get(at)) && isOfSame(at, other, itself);
            }
            return alike;
        }

        /**
         * Whether an instruction is of the local variable that its partner is of, whatever slot each has: a value that is
         * read is that of the same place, and one that is written is read there.
         */
        private boolean isOfSame(int at, Code other, int[] partner) {
            if (slots.get(at) < 0) {
                return true;
            }
            int to = partner[at];
            int own = isWrite(at) ? next(at) : last(at);
            int others = isWrite(at) ? other.next(to) : other.last(to);
            if (own < 0 && others < 0) { // a parameter, or what nothing behind it reads
                return isWrite(at) || slots.get(at).equals(other.slots.get(to));
            }
            return own >= 0 && partner[own] == others;
        }

        private boolean isWrite(int at) {
            int opcode = Integer.parseInt(texts.get(at).split(" ")[0]);
            return slots.get(at) >= 0 && opcode >= Opcodes.ISTORE && opcode <= Opcodes.ASTORE;
        }

        /** Where the variable of an instruction was written last. */
        private int last(int at) {
            int found = at - 1;
            while (found >= 0 && !(isWrite(found) && slots.get(found).equals(slots.get(at)))) {
                found--;
            }
            return found;
        }

        /** Where the variable of an instruction is read next, before it is written again. */
        private int next(int at) {
            for (int found = at + 1; found < slots.size(); found++) {
                if (slots.get(found).equals(slots.get(at))) {
                    return isWrite(found) ? -1 : found;
                }
            }
            return -1;
        }

        /** The numbers that a table of a switch over an enum gives to constants; of other code all that it does. */
        List<String> cases() {
            List<String> found = new ArrayList<>();
            for (int at = 3; at < texts.size(); at++) {
                if (texts.get(at).startsWith(Opcodes.IASTORE + " ")) {
                    found.add(String.join(" ", texts.subList(at - 3, at)));
                }
            }
            return name.equals("<clinit>") ? found : texts;
        }

        /** All its instructions. */
        TreeSet<Integer> all() {
            TreeSet<Integer> found = new TreeSet<>();
            for (int at = 0; at < lines.size(); at++) {
                found.add(at);
            }
            return found;
        }

        /** What the other code has besides, and this one nowhere; a lambda that does another thing is still one. */
        TreeSet<Integer> removed(Code other) {
            TreeSet<Integer> found = other.all();
            Set<String> added = new HashSet<>();
            int[] partner = partners(other);
            for (int at = 0; partner != null && at < partner.length; at++) {
                if (partner[at] < 0) {
                    added.add(plain.get(at));
                }
                found.remove(partner[at]);
            }
            found.removeIf(at -> added.contains(other.plain.get(at)));
            return found;
        }

        /** What is not in the other code, or is where something of it is not any more; all where it is none. */
        TreeSet<Integer> changed(Code other) {
            int[] partner = other == null ? null : partners(other);
            if (partner == null) {
                return all();
            }
            TreeSet<Integer> found = new TreeSet<>();
            int next = 0; // of the other code
            for (int at = 0; at < texts.size(); at++) {
                if (partner[at] < 0) {
                    found.add(at);
                    continue;
                }
                int[] own = jumps.get(at);
                int[] others = other.jumps.get(partner[at]);
                // something of the other code came before it, for which nothing else is here
                boolean moved = !isOfSame(at, other, partner);
                moved |= partner[at] != next && (at == 0 || partner[at - 1] >= 0);
                for (int to = 0; to < own.length; to++) {
                    moved |= own[to] < partner.length && partner[own[to]] >= 0 && partner[own[to]] != others[to];
                }
                if (moved) {
                    found.add(at);
                }
                next = partner[at] + 1;
            }
            if (next != other.texts.size() && !lines.isEmpty()) {
                found.add(lines.size() - 1);
            }
            return found.isEmpty() ? all() : found; // only what it catches has changed
        }

        /** For each instruction that of the other code which it is, in a longest common sequence, or -1; null: too long. */
        private int[] partners(Code other) {
            int rows = texts.size();
            int columns = other.texts.size();
            if ((long) rows * columns > MOST) {
                return null;
            }
            int[][] length = new int[rows + 1][columns + 1];
            for (int row = rows - 1; row >= 0; row--) {
                for (int column = columns - 1; column >= 0; column--) {
                    length[row][column] = texts.get(row).equals(other.texts.get(column))
                        ? length[row + 1][column + 1] + 1 : Math.max(length[row + 1][column], length[row][column + 1]);
                }
            }
            int[] found = new int[rows];
            int column = 0;
            for (int row = 0; row < rows; row++) {
                while (column < columns && !texts.get(row).equals(other.texts.get(column))
                    && length[row][column + 1] > length[row + 1][column]) {
                    column++;
                }
                boolean same = column < columns && texts.get(row).equals(other.texts.get(column));
                found[row] = same ? column++ : -1;
            }
            return found;
        }

        /** A name without the number that a compiler gives to a lambda. */
        private static String plain(String name) {
            return name.replaceAll("lambda\\$(\\w+)\\$\\d+", "lambda\\$$1\\$");
        }

        private static List<LabelNode> targets(AbstractInsnNode one) {
            List<LabelNode> found = new ArrayList<>();
            if (one instanceof JumpInsnNode jump) {
                found.add(jump.label);
            } else if (one instanceof TableSwitchInsnNode table) {
                found.add(table.dflt);
                found.addAll(table.labels);
            } else if (one instanceof LookupSwitchInsnNode table) {
                found.add(table.dflt);
                found.addAll(table.labels);
            }
            return found;
        }

        private static String text(AbstractInsnNode one) {
            Object more = "";
            if (one instanceof IntInsnNode number) {
                more = number.operand;
            } else if (one instanceof TypeInsnNode type) {
                more = type.desc;
            } else if (one instanceof FieldInsnNode of) {
                more = of.owner + "." + of.name + of.desc;
            } else if (one instanceof MethodInsnNode of) {
                more = of.owner + "." + plain(of.name) + of.desc;
            } else if (one instanceof InvokeDynamicInsnNode of) {
                more = of.name + of.desc + of.bsm + plain(Arrays.toString(of.bsmArgs));
            } else if (one instanceof LdcInsnNode constant) {
                more = constant.cst.getClass().getSimpleName() + constant.cst;
            } else if (one instanceof IincInsnNode step) {
                more = step.incr;
            } else if (one instanceof MultiANewArrayInsnNode array) {
                more = array.desc + array.dims;
            } else if (one instanceof TableSwitchInsnNode table) {
                more = table.min + " " + table.max;
            } else if (one instanceof LookupSwitchInsnNode table) {
                more = table.keys;
            }
            return one.getOpcode() + " " + more;
        }
    }
}
