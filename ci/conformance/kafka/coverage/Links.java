import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/**
 * What the classes of a build need of each other and do not have, though a release has it.
 *
 * <p>Arguments: the class path of the build, that of the release; names of its changed classes on standard input. Looked at
 * are these, and the classes of Kafka's that name one of them. A row has the error that a virtual machine would throw, the
 * class or member that it is of, and the class that needs it, between tabs.
 */
public final class Links {
    private static final String OWN = "org/apache/kafka/";
    /** A machine that does not have an annotation goes on without it. */
    private static final String ANNOTATIONS = OWN + "common/annotation/";

    private final URLClassLoader loader;
    private final Map<Class<?>, Map<String, Member>> members = new HashMap<>();

    private Links(String classPath) throws IOException {
        List<URL> urls = new ArrayList<>();
        for (String place : classPath.split(File.pathSeparator)) {
            urls.add(Path.of(place).toUri().toURL());
        }
        loader = new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
    }

    public static void main(String[] args) throws IOException {
        Set<String> changed = new TreeSet<>();
        BufferedReader names = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        names.lines().forEach(name -> changed.add(name.replace('.', '/')));
        Links build = new Links(args[0]);
        Links release = new Links(args[1]);
        for (String name : all(args[0])) {
            Names used;
            try {
                used = build.names(name);
            } catch (IOException | RuntimeException e) {
                System.out.println("ClassFormatError\t" + name.replace('/', '.') + "\tthe build");
                continue;
            }
            if (used == null || (!changed.contains(name) && Collections.disjoint(changed, used.classes))) {
                continue;
            }
            Set<String> found = build.misfits(name, used);
            Names before = found.isEmpty() ? null : release.names(name);
            if (before != null) {
                found.removeAll(release.misfits(name, before));
            }
            found.forEach(one -> System.out.println(one + "\t" + name.replace('/', '.')));
        }
    }

    /** The names of Kafka's classes on a class path. */
    private static Set<String> all(String classPath) throws IOException {
        Set<String> found = new LinkedHashSet<>();
        for (String place : classPath.split(File.pathSeparator)) {
            Path path = Path.of(place);
            if (Files.isDirectory(path)) {
                try (Stream<Path> files = Files.walk(path)) {
                    files.forEach(file -> found.add(path.relativize(file).toString().replace(File.separatorChar, '/')));
                }
            } else {
                try (JarFile jar = new JarFile(path.toFile())) {
                    jar.stream().forEach(entry -> found.add(entry.getName()));
                }
            }
        }
        found.removeIf(name -> !name.startsWith(OWN) || !name.endsWith(".class"));
        Set<String> names = new LinkedHashSet<>();
        found.forEach(name -> names.add(name.substring(0, name.length() - ".class".length())));
        return names;
    }

    /** What a class names: classes, and members as the number of their kind, their owner, name and descriptor. */
    private record Names(Set<String> classes, List<String[]> references) { }

    private Names names(String name) throws IOException {
        byte[] bytes;
        try (InputStream stream = loader.getResourceAsStream(name + ".class")) {
            if (stream == null) return null;
            bytes = stream.readAllBytes();
        }
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
        in.skipBytes(8);
        int count = in.readUnsignedShort();
        Object[] parts = new Object[count];
        for (int at = 1; at < count; at++) {
            int tag = in.readUnsignedByte();
            switch (tag) {
                case 1 -> parts[at] = in.readUTF();
                case 5, 6 -> {
                    in.readLong();
                    at++;
                }
                case 7, 8, 16, 19, 20 -> parts[at] = new int[] {tag, in.readUnsignedShort()};
                case 15 -> in.skipBytes(3);
                case 9, 10, 11, 12 -> parts[at] = new int[] {tag, in.readUnsignedShort(), in.readUnsignedShort()};
                default -> in.readInt();
            }
        }
        Names found = new Names(new TreeSet<>(), new ArrayList<>());
        for (Object part : parts) {
            if (part instanceof int[] one && one[0] == 7) {
                found.classes.add((String) parts[one[1]]);
            } else if (part instanceof int[] one && one[0] >= 9 && one[0] <= 11) {
                int[] pair = (int[]) parts[one[2]];
                String owner = (String) parts[((int[]) parts[one[1]])[1]];
                found.references.add(new String[] {"" + one[0], owner, (String) parts[pair[1]], (String) parts[pair[2]]});
            }
        }
        return found;
    }

    private Set<String> misfits(String name, Names used) {
        Set<String> found = new TreeSet<>();
        Class<?> by = loaded(name, found);
        if (by == null) {
            return found;
        }
        for (String one : used.classes) {
            if (one.startsWith(OWN) && !one.startsWith(ANNOTATIONS)) {
                loaded(one, found);
            }
        }
        for (String[] one : used.references) {
            if (one[1].startsWith(OWN)) {
                look(one, by, found);
            }
        }
        try {
            for (Method method : Modifier.isAbstract(by.getModifiers()) ? new Method[0] : by.getMethods()) {
                if (Modifier.isAbstract(method.getModifiers())) {
                    found.add("AbstractMethodError\t" + told(by, method.getName() + descriptor(method)));
                }
            }
        } catch (LinkageError e) {
            return found; // told where its class is loaded
        }
        return found;
    }

    /** A class, linked but not begun; null where something is missing, which is a misfit where it is Kafka's. */
    private Class<?> loaded(String name, Set<String> found) {
        try {
            Class<?> one = Class.forName(name.replace('/', '.'), false, loader);
            members(one);
            return one;
        } catch (ClassNotFoundException e) {
            found.add("NoClassDefFoundError\t" + name.replace('/', '.'));
        } catch (NoClassDefFoundError e) {
            if (String.valueOf(e.getMessage()).startsWith(OWN)) {
                found.add("NoClassDefFoundError\t" + e.getMessage().replace('/', '.'));
            }
        } catch (LinkageError e) {
            String reason = String.valueOf(e.getMessage()).lines().findFirst().orElse("").replace('\t', ' ');
            found.add(e.getClass().getSimpleName() + "\t" + name.replace('/', '.') + " (" + reason + ")");
        }
        return null;
    }

    private void look(String[] reference, Class<?> by, Set<String> found) {
        Class<?> owner = loaded(reference[1], found);
        if (owner == null) {
            return;
        }
        boolean isField = reference[0].equals("9");
        String text = told(owner, reference[2] + (isField ? "" : reference[3]));
        try {
            Member member = member(owner, isField, reference[2] + reference[3]);
            if (member == null) {
                found.add((isField ? "NoSuchFieldError\t" : "NoSuchMethodError\t") + text);
            } else if (!isField && owner.isInterface() != reference[0].equals("11")) {
                found.add("IncompatibleClassChangeError\t" + text);
            } else if (!isSeen(owner.getModifiers(), owner, by, true)
                || !isSeen(member.getModifiers(), member.getDeclaringClass(), by, false)) {
                found.add("IllegalAccessError\t" + text);
            }
        } catch (LinkageError e) {
            return; // what is not Kafka's is missing: nothing is known of it
        }
    }

    /** Whether a class may use another one, or a member of it; to the machine no class is private. */
    private static boolean isSeen(int modifiers, Class<?> owner, Class<?> by, boolean isClass) {
        boolean isNear = owner.getPackageName().equals(by.getPackageName()) && (isClass || !Modifier.isPrivate(modifiers));
        return isNear || Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers) || owner.getNestHost() == by.getNestHost();
    }

    /** The field or method that a class has or inherits; null where there is none. */
    private Member member(Class<?> owner, boolean isField, String key) {
        for (Class<?> one = owner; one != null; one = one.getSuperclass()) {
            Member found = members(one).get(isField + key);
            if (found != null) return found;
        }
        for (Class<?> one = owner; one != null && !key.startsWith("<"); one = one.getSuperclass()) {
            for (Class<?> parent : one.getInterfaces()) {
                Member found = member(parent, isField, key);
                if (found != null) return found;
            }
        }
        return owner.isInterface() && !isField ? members(Object.class).get(isField + key) : null;
    }

    private Map<String, Member> members(Class<?> owner) {
        Map<String, Member> known = members.get(owner);
        if (known != null) {
            return known;
        }
        Map<String, Member> found = new HashMap<>();
        for (Method one : owner.getDeclaredMethods()) {
            found.put(false + one.getName() + descriptor(one), one);
        }
        for (Constructor<?> one : owner.getDeclaredConstructors()) {
            found.put(false + "<init>" + MethodType.methodType(void.class, one.getParameterTypes()).toMethodDescriptorString(), one);
        }
        for (Field one : owner.getDeclaredFields()) {
            found.put(true + one.getName() + one.getType().descriptorString(), one);
        }
        members.put(owner, found);
        return found;
    }

    private static String descriptor(Method method) {
        return MethodType.methodType(method.getReturnType(), method.getParameterTypes()).toMethodDescriptorString();
    }

    private static String told(Class<?> owner, String member) {
        return owner.getName() + "." + member;
    }
}
