import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.pitest.bytecode.analysis.ClassTree;
import org.pitest.classinfo.ClassByteArraySource;
import org.pitest.classinfo.ClassName;
import org.pitest.mutationtest.build.MutationInterceptor;
import org.pitest.mutationtest.build.intercept.equivalent.EquivalentReturnMutationFilter;
import org.pitest.mutationtest.build.intercept.logging.LoggingCallsFilter;
import org.pitest.mutationtest.engine.MutationDetails;
import org.pitest.mutationtest.engine.gregor.GregorMutater;
import org.pitest.mutationtest.engine.gregor.config.Mutator;

/**
 * Mutants of classes, by PIT's engine and its default operators, and the driver of the fuzz on them.
 * `CLASSPATH list CLASS...` prints the mutants, a line each; `CLASSPATH write OUT CLASS NUMBER` writes one. `CLASSPATH` answers as FuzzDriver does, with the classes as
 * they are until a line `mutant CLASS NUMBER` changes one; then `ready` is the answer.
 */
public final class Mutants {
    private static final String DRIVER = "org.apache.kafka.controller.FuzzDriver$Controller";
    private static final String[] LOADED_ANEW = {"org.apache.kafka.controller.", "org.apache.kafka.metadata."};

    private final ClassByteArraySource bytes;
    private final GregorMutater engine;
    private final URL[] places;

    private Mutants(String classPath) {
        places = Arrays.stream(classPath.split(java.io.File.pathSeparator)).map(Mutants::url).toArray(URL[]::new);
        URLClassLoader loader = new URLClassLoader(places, null);
        bytes = name -> {
            try (var in = loader.getResourceAsStream(name.replace('.', '/') + ".class")) {
                return in == null ? Optional.empty() : Optional.of(in.readAllBytes());
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        };
        engine = new GregorMutater(bytes, method -> true, Mutator.newDefaults());
    }

    public static void main(String[] args) throws Exception {
        Mutants mutants = new Mutants(args[0]);
        if (args.length > 1 && args[1].equals("list")) {
            for (String name : Arrays.copyOfRange(args, 2, args.length)) mutants.list(name);
        } else if (args.length > 1) {
            Path file = Path.of(args[2], args[3].replace('.', '/') + ".class");
            Files.createDirectories(file.getParent());
            Files.write(file, mutants.bytesOf(args[3], args[4]));
        } else {
            mutants.answer();
        }
    }

    private static URL url(String place) {
        try {
            return Path.of(place).toUri().toURL();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private List<MutationDetails> of(String name) {
        return List.copyOf(engine.findMutations(ClassName.fromString(name)));
    }

    /** Those of lines that do not log, and that return something else than before, by PIT's own filters. */
    private List<MutationDetails> changing(String name) {
        ClassTree tree = ClassTree.fromBytes(bytes.getBytes(name).orElseThrow());
        List<MutationDetails> rest = of(name);
        for (MutationInterceptor filter : List.of(
                new EquivalentReturnMutationFilter().createInterceptor(null), new LoggingCallsFilter(List.of("org/slf4j")))) {
            filter.begin(tree);
            rest = List.copyOf(filter.intercept(rest, engine));
            filter.end();
        }
        return rest;
    }

    private byte[] bytesOf(String name, String number) {
        return engine.getMutation(of(name).get(Integer.parseInt(number)).getId()).getBytes();
    }

    private void list(String name) {
        List<MutationDetails> all = of(name);
        for (MutationDetails one : changing(name)) {
            String operator = one.getMutator().substring(one.getMutator().lastIndexOf('.') + 1);
            System.out.println(String.join("\t", name, String.valueOf(all.indexOf(one)), one.getMethod(),
                String.valueOf(one.getLineNumber()), operator, one.getDescription()));
        }
    }

    private void answer() throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        Writer out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 16);
        Class<?> driver = new Changed(places, "", null).loadClass(DRIVER);
        List<String> lines = new ArrayList<>();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.startsWith("mutant ")) {
                String[] words = line.split(" ");
                driver = new Changed(places, words[1], bytesOf(words[1], words[2])).loadClass(DRIVER);
                out.write("ready\n");
                out.flush();
            } else if (!line.isEmpty()) {
                lines.add(line);
            } else {
                play(driver, lines, out);
                out.flush();
                lines.clear();
            }
        }
    }

    /** A sequence; a change that lets no controller begin has died of it. */
    private static void play(Class<?> driver, List<String> lines, Writer out) throws Exception {
        Constructor<?> made = driver.getDeclaredConstructor(String.class);
        Method answer = driver.getDeclaredMethod("answer", String[].class);
        made.setAccessible(true);
        answer.setAccessible(true);
        Object controller = null;
        for (String line : lines) {
            try {
                if (line.startsWith("begin")) controller = made.newInstance(line);
                else out.write((controller == null ? "died" : answer.invoke(controller, (Object) line.split(" "))) + "\n");
            } catch (InvocationTargetException e) {
                controller = null;
                if (!line.startsWith("begin")) out.write("died#" + String.valueOf(e.getCause()).replace('\n', ' ') + "\n");
            }
        }
    }

    /** The controller's classes, loaded anew with one of them changed; all others are those of the parent. */
    private static final class Changed extends URLClassLoader {
        private final String name;
        private final byte[] changed;

        Changed(URL[] places, String name, byte[] changed) {
            super(places, Mutants.class.getClassLoader());
            this.name = name;
            this.changed = changed;
        }

        @Override
        protected Class<?> loadClass(String wanted, boolean resolve) throws ClassNotFoundException {
            if (Arrays.stream(LOADED_ANEW).noneMatch(wanted::startsWith)) return super.loadClass(wanted, resolve);
            synchronized (getClassLoadingLock(wanted)) {
                Class<?> known = findLoadedClass(wanted);
                if (known != null) return known;
                return wanted.equals(name) ? defineClass(wanted, changed, 0, changed.length) : findClass(wanted);
            }
        }
    }
}
