package org.apache.kafka.server;

/** Asks an older broker the cases of its heartbeats, and prints one line for each. Arguments: none. */
public final class BrokerDriver {
    private BrokerDriver() { }

    public static void main(String[] args) {
        try {
            Heartbeats.run();
            System.exit(0);
        } catch (Throwable failure) {
            failure.printStackTrace();
            System.exit(1);
        }
    }

    static void show(String name, boolean answer) {
        System.out.println(name + " " + answer);
    }

    static void require(boolean condition, String what) {
        if (!condition) {
            throw new IllegalStateException("not so: " + what);
        }
    }
}
