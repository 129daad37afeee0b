import java.nio.file.Files;
import java.nio.file.Path;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * Changes the bytes of one class: `CLASS OUT list` prints its mutants, a line each; `CLASS OUT N...` writes each to
 * OUT/N. `CLASS OUT mended` writes PartitionChangeBuilder with the mend that keeps removed replicas out of the ELR,
 * `CLASS OUT wrong` one that does not ask whether the last known leader is alive, and `CLASS OUT gains` a
 * ConfigurationControlManager whose updateFeatures takes a word besides, `CLASS OUT torn` one whose answers need not be
 * written together, `CLASS OUT oldest` a PartitionChangeBuilder whose records are of the oldest version, and
 * `CLASS OUT emptied-METHOD` one whose method of this name, which gives nothing back, does nothing; `first-METHOD` one
 * whose loop comes to the first only, `without-METHOD` one that calls no setter of this name, `taken-N` one whose
 * condition of this number is always as it has to be for the jump, and `later-METHOD` one that takes a later version.
 * A mutant negates one condition, swaps an addition and a subtraction, or 0 and 1.
 */
public final class ClassChanges {
    private static final int[] SWAPPED = {
        Opcodes.IFEQ, Opcodes.IFNE, Opcodes.IFLT, Opcodes.IFGE, Opcodes.IFGT, Opcodes.IFLE,
        Opcodes.IF_ICMPEQ, Opcodes.IF_ICMPNE, Opcodes.IF_ICMPLT, Opcodes.IF_ICMPGE, Opcodes.IF_ICMPGT,
        Opcodes.IF_ICMPLE, Opcodes.IF_ACMPEQ, Opcodes.IF_ACMPNE, Opcodes.IFNULL, Opcodes.IFNONNULL,
        Opcodes.IADD, Opcodes.ISUB, Opcodes.ICONST_0, Opcodes.ICONST_1,
    };

    private ClassChanges() { }

    public static void main(String[] args) throws Exception {
        byte[] bytes = Files.readAllBytes(Path.of(args[0]));
        String name = new ClassReader(bytes).getClassName();
        for (int i = 2; i < args.length; i++) {
            boolean numbered = Character.isDigit(args[i].charAt(0));
            Changer changer = new Changer(numbered ? Integer.parseInt(args[i]) : -1, args[i]);
            new ClassReader(bytes).accept(changer, 0);
            if (args[i].equals("list")) continue;
            Path file = Path.of(args[1], args[i], name + ".class");
            Files.createDirectories(file.getParent());
            Files.write(file, ((ClassWriter) changer.getDelegate()).toByteArray());
        }
    }

    static int swapped(int opcode) {
        for (int i = 0; i < SWAPPED.length; i++) {
            if (SWAPPED[i] == opcode) return SWAPPED[i ^ 1];
        }
        return -1;
    }

    private static final class Changer extends ClassVisitor {
        private final int wanted;
        private final String change;
        private int count = 0;

        Changer(int wanted, String change) {
            super(Opcodes.ASM9, new ClassWriter(ClassWriter.COMPUTE_MAXS));
            this.wanted = wanted;
            this.change = change;
        }

        private void addWord(int access, String name, String type) {
            MethodVisitor added = super.visitMethod(access, name, type, null, null);
            added.visitCode();
            added.visitInsn(Opcodes.ACONST_NULL);
            added.visitInsn(Opcodes.ARETURN);
            added.visitMaxs(1, 1);
            added.visitEnd();
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String type, String signature, String[] thrown) {
            if (change.equals("emptied-" + name)) {
                MethodVisitor emptied = super.visitMethod(access, name, type, signature, thrown);
                emptied.visitCode();
                emptied.visitInsn(Opcodes.RETURN);
                emptied.visitMaxs(0, (Type.getArgumentsAndReturnSizes(type) >> 2));
                emptied.visitEnd();
                return null;
            }
            boolean gains = change.equals("gains") && name.equals("updateFeatures");
            if (gains) addWord(access, name, type.replace("ZI)", "ZILjava/lang/String;)"));
            MethodVisitor next = super.visitMethod(access, gains ? "formerly" : name, type, signature, thrown);
            boolean skipped = name.equals("<clinit>") || name.equals("toString") || name.equals("hashCode");
            return skipped ? next : new MethodVisitor(Opcodes.ASM9, next) {
                private final java.util.Set<Label> passed = new java.util.HashSet<>();
                private Label end = null;
                private int line = 0;

                @Override
                public void visitLineNumber(int number, Label start) {
                    line = number;
                    super.visitLineNumber(number, start);
                }

                private int chosen(int opcode) {
                    int other = swapped(opcode);
                    if (other < 0) return opcode;
                    if (change.equals("list")) System.out.println(count + " " + name + " " + line + " " + opcode);
                    return count++ == wanted ? other : opcode;
                }

                @Override
                public void visitCode() {
                    super.visitCode();
                    if (change.equals("hangs") && name.equals("registerBroker")) {
                        super.visitLdcInsn(3_600_000L);
                        super.visitMethodInsn(Opcodes.INVOKESTATIC, "java/lang/Thread", "sleep", "(J)V", false);
                    }
                }

                @Override
                public void visitLabel(Label label) {
                    passed.add(label);
                    super.visitLabel(label);
                }

                @Override
                public void visitJumpInsn(int opcode, Label label) {
                    boolean again = opcode == Opcodes.GOTO && passed.contains(label);
                    if (opcode == Opcodes.IFEQ && end == null) end = label;
                    if (opcode != Opcodes.GOTO && change.equals("taken-" + count)) {
                        super.visitInsn(Opcodes.POP);
                        super.visitInsn(opcode == Opcodes.IFNE ? Opcodes.ICONST_1 : Opcodes.ICONST_0);
                    }
                    super.visitJumpInsn(chosen(opcode), again && change.equals("first-" + name) ? end : label);
                }

                @Override
                public void visitFieldInsn(int opcode, String owner, String field, String type) {
                    boolean later = change.equals("later-" + name) && field.startsWith("IBP_");
                    super.visitFieldInsn(opcode, owner, later ? "IBP_4_0_IV0" : field, type);
                }

                @Override
                public void visitMethodInsn(int opcode, String owner, String called, String type, boolean isInterface) {
                    if (change.equals("without-" + called)) {
                        super.visitInsn(Opcodes.POP);
                        return;
                    }
                    boolean torn = change.equals("torn") && called.equals("atomicOf");
                    super.visitMethodInsn(opcode, owner, torn ? "of" : called, type, isInterface);
                    if (change.equals("oldest") && called.equals("partitionChangeRecordVersion")) {
                        super.visitInsn(Opcodes.POP);
                        super.visitInsn(Opcodes.ICONST_0);
                    }
                    if (change.equals("wrong") && name.equals("canElectLastKnownLeader") && called.equals("test")) {
                        super.visitInsn(Opcodes.POP);
                        super.visitInsn(Opcodes.ICONST_1);
                    }
                }

                @Override
                public void visitInsn(int opcode) {
                    if (change.equals("mended") && opcode == Opcodes.IRETURN && name.equals("lambda$maybePopulateTargetElr$1")) {
                        super.visitVarInsn(Opcodes.ALOAD, 0);
                        super.visitFieldInsn(Opcodes.GETFIELD, "org/apache/kafka/controller/PartitionChangeBuilder",
                            "targetReplicas", "Ljava/util/List;");
                        super.visitVarInsn(Opcodes.ALOAD, 1);
                        super.visitMethodInsn(Opcodes.INVOKEINTERFACE, "java/util/List", "contains",
                            "(Ljava/lang/Object;)Z", true);
                        super.visitInsn(Opcodes.IAND);
                    }
                    super.visitInsn(chosen(opcode));
                }
            };
        }
    }
}
