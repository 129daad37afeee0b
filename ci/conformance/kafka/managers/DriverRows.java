package org.apache.kafka.controller;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * What a driver of rows reads and writes: blocks of rows of 32-bit ints in, as many rows of answers out.
 *
 * A block is the number of its rows, then the rows, little-endian; 0 ends.
 */
final class DriverRows {
    private DriverRows() { }

    /** Answers the rows of a block. */
    interface Block {
        void answer(int rows, IntBuffer asked, IntBuffer answers) throws Exception;
    }

    /** Answers a row, whose ints the next one takes. */
    interface Row {
        int[] answer(int[] given) throws Exception;
    }

    static void each(int inputs, int outputs, Row driver) throws Exception {
        int[] given = new int[inputs];
        blocks(inputs, outputs, (rows, asked, answers) -> {
            for (int row = 0; row < rows; row++) {
                asked.get(given);
                answers.put(driver.answer(given));
            }
        });
    }

    static void blocks(int inputs, int outputs, Block driver) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 20));
        OutputStream out = new BufferedOutputStream(System.out, 1 << 20);
        System.setOut(System.err); // what the classes print is no answer
        for (int rows = Integer.reverseBytes(in.readInt()); rows != 0; rows = Integer.reverseBytes(in.readInt())) {
            byte[] bytes = new byte[rows * inputs * 4];
            in.readFully(bytes);
            IntBuffer asked = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
            ByteBuffer result = ByteBuffer.allocate(rows * outputs * 4).order(ByteOrder.LITTLE_ENDIAN);
            driver.answer(rows, asked, result.asIntBuffer());
            out.write(result.array());
            out.flush();
        }
    }

    /** The members of a bit mask, ascending. */
    static List<Integer> members(int mask) {
        List<Integer> result = new ArrayList<>(Integer.bitCount(mask));
        for (int left = mask; left != 0; left &= left - 1) {
            result.add(Integer.numberOfTrailingZeros(left));
        }
        return result;
    }
}
