"use strict";
// The data of a replayed log: all that is not in view is numbers in arrays.
const PARTITION = "\0", GONE = -1, OFFLINE = 0, SHORT = 1;
const REACHED = new Set([0, 4]);  // what a broker does that clients can reach: it is live, or shutting down
const DANGERS = ["offline", "refuses acks=all", "one in sync", "fewer in sync", "all in sync"];
const DOING = ["live", "fenced", "shut down", "starting", "shutting down", "gone"];
const byId = (id) => document.getElementById(id);

async function read() {
  const packed = Uint8Array.from(atob(JSON.parse(byId("drawing").textContent)), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Log(JSON.parse(await new Response(stream).text()));
}

function sums(counts) {
  const ends = new Int32Array(counts.length + 1);
  counts.forEach((count, number) => { ends[number + 1] = ends[number] + count; });
  return ends;
}

// The place of the first number of an ascending list that is more than another.
function firstAfter(numbers, least) {
  let low = 0, high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] > least) high = middle; else low = middle + 1;
  }
  return low;
}

function dangerOf([leader, isr, , replicas, least]) {
  if (leader < 0) return OFFLINE;
  if (isr.length < least) return SHORT;
  if (isr.length === 1) return 2;
  return isr.length < replicas.length ? 3 : 4;
}

// Partitions in the order of their topics, then of their numbers.
function inOrder(names) {
  const parts = names.map((name) => [name.slice(0, name.lastIndexOf("-")), Number(name.slice(name.lastIndexOf("-") + 1))]);
  const topics = [...new Set(parts.map(([topic]) => topic))].sort();
  const ranks = new Map(topics.map((topic, rank) => [topic, rank]));
  const keys = Float64Array.from(parts, ([topic, index]) => ranks.get(topic) * 2 ** 31 + index);
  return Int32Array.from(names.keys()).sort((a, b) => keys[a] - keys[b]);
}

class Log {
  constructor(data) {
    Object.assign(this, data);
    this.size = data.offsets.length;
    this.eventEnds = sums(data.eventCounts);
    this.changeEnds = sums(data.changeCounts);
    this.dangers = data.shown.map(dangerOf);
    this.order = inOrder(data.partitions);
    this.lower = data.partitions.map((name) => name.toLowerCase());
    this.faults = new Map();
    for (const [batch, property, partition, parts] of data.violations) {
      const text = `${property} by ${data.partitions[partition]}${parts && parts !== property ? `: ${parts}` : ""}`;
      this.faults.set(batch, [...(this.faults.get(batch) || []), { property, partition, text }]);
    }
    this.reasons = new Map(data.problems);
    this.moves = [...data.brokers].sort(([a], [b]) => a - b);
    this.followChanges();
    this.followBrokers();
    this.down = new Set();  // the brokers that nobody can reach, at a batch
    this.at = new Int32Array(data.partitions.length).fill(-1);  // the last change of each partition, at a batch
    this.place = -1;
  }

  // The change before each change, and after each batch how many partitions are offline, and refuse acks=all.
  // A leader that is down is elected while it is, or goes down with the change: only these are looked at again.
  followChanges() {
    const latest = new Int32Array(this.partitions.length).fill(-1), dangers = latest.slice(), counts = [0, 0, 0, 0, 0];
    const unreached = new Set();
    this.before = new Int32Array(this.changed.length);
    this.then = new Int8Array(this.changed.length);  // the danger at the batch of each change
    this.counts = [new Int32Array(this.size), new Int32Array(this.size)];
    this.down = new Set();
    const count = (partition) => {
      const change = latest[partition], now = this.danger(change), state = this.states[change];
      if (dangers[partition] >= 0) counts[dangers[partition]] -= 1;
      if (now >= 0) counts[now] += 1;
      dangers[partition] = now;
      if (state !== GONE && this.down.has(this.shown[state][0])) unreached.add(partition); else unreached.delete(partition);
    };
    for (let batch = 0, number = 0, move = 0; batch < this.size; batch += 1) {
      const first = move;
      for (; move < this.moves.length && this.moves[move][0] === batch; move += 1) {
        const [, broker, state] = this.moves[move];
        if (REACHED.has(state)) this.down.delete(broker); else this.down.add(broker);
      }
      for (; number < this.changeEnds[batch + 1]; number += 1) {
        this.before[number] = latest[this.changed[number]];
        latest[this.changed[number]] = number;
        count(this.changed[number]);
        this.then[number] = dangers[this.changed[number]];
      }
      if (move > first) for (const partition of [...unreached]) count(partition);
      this.counts[OFFLINE][batch] = counts[OFFLINE];
      this.counts[SHORT][batch] = counts[SHORT];
    }
  }

  // Of each broker since which batch it does what, and the batches whose events name it.
  followBrokers() {
    const doing = new Map();
    for (const [batch, broker, state] of this.brokers) {
      if (!doing.has(broker)) doing.set(broker, []);
      doing.get(broker).push([batch, state]);
    }
    this.doing = new Map([...doing].sort(([a], [b]) => a - b));
    this.acts = new Map([...this.doing.keys()].map((broker) => [broker, []]));
    for (let batch = 0; batch < this.size; batch += 1) {
      for (let event = this.eventEnds[batch]; event < this.eventEnds[batch + 1]; event += 1) {
        const acts = this.acts.get(this.words[this.events[event]][2]);
        if (acts && acts[acts.length - 1] !== batch) acts.push(batch);
      }
    }
  }

  // The danger of a partition at the batch at hand.
  danger(change) {
    const state = this.states[change];
    if (state === GONE) return -1;
    return this.down.has(this.shown[state][0]) ? OFFLINE : this.dangers[state];
  }

  // Takes `at` to what it was after a batch.
  moveTo(batch) {
    while (this.place < batch) {
      this.place += 1;
      for (let n = this.changeEnds[this.place]; n < this.changeEnds[this.place + 1]; n += 1) this.at[this.changed[n]] = n;
    }
    while (this.place > batch) {
      for (let n = this.changeEnds[this.place + 1] - 1; n >= this.changeEnds[this.place]; n -= 1) {
        this.at[this.changed[n]] = this.before[n];
      }
      this.place -= 1;
    }
    this.down = new Set([...this.doing.keys()].filter((broker) => !REACHED.has(this.doingAt(broker, batch))));
  }

  doingAt(broker, batch) {
    const spells = this.doing.get(broker), place = firstAfter(spells.map(([start]) => start), batch) - 1;
    return place < 0 ? 5 : spells[place][1];
  }

  // The change since which a partition is in the danger that it is in after another.
  since(change) {
    let first = change;
    const now = this.danger(change);
    while (this.before[first] >= 0 && this.then[this.before[first]] === now) first = this.before[first];
    return first;
  }

  textOf(event) {
    const [text] = this.words[this.events[event]], partition = this.eventPartitions[event];
    return partition < 0 ? text : text.replace(PARTITION, this.partitions[partition]);
  }

  // The kinds of a batch's events and how often each comes; of one that comes once its words.
  kindsOf(batch) {
    const kinds = new Map();
    for (let event = this.eventEnds[batch]; event < this.eventEnds[batch + 1]; event += 1) {
      const kind = this.words[this.events[event]][1];
      kinds.set(kind, [...(kinds.get(kind) || []), event]);
    }
    return [...kinds].map(([kind, events]) => (events.length > 1 ? `${kind} ×${events.length}` : this.textOf(events[0])));
  }

  isProblem(batch) { return this.faults.has(batch) || this.reasons.has(batch); }

  // Which partitions a reader means: the one of that name, else all whose names have it in them; null for all.
  named(text) {
    const wanted = text.trim().toLowerCase(), exact = this.partitions.indexOf(text.trim());
    if (!wanted) return null;
    return Uint8Array.from(this.lower, (name, number) => Number(exact < 0 ? name.includes(wanted) : number === exact));
  }

  // The batches that a reader wants to see.
  matching(named, text, problems) {
    const wanted = text.trim().toLowerCase(), batches = [];
    const says = this.words.map(([words]) => words.toLowerCase().includes(wanted));
    for (let batch = 0; batch < this.size; batch += 1) {
      if (problems && !this.isProblem(batch)) continue;
      if (named && !this.concerns(batch, named)) continue;
      if (wanted && !this.says(batch, says, wanted)) continue;
      batches.push(batch);
    }
    return batches;
  }

  concerns(batch, named) {
    for (let n = this.changeEnds[batch]; n < this.changeEnds[batch + 1]; n += 1) if (named[this.changed[n]]) return true;
    return (this.faults.get(batch) || []).some((fault) => named[fault.partition]);
  }

  says(batch, says, wanted) {
    for (let event = this.eventEnds[batch]; event < this.eventEnds[batch + 1]; event += 1) {
      if (says[this.events[event]] || this.textOf(event).toLowerCase().includes(wanted)) return true;
    }
    return (this.faults.get(batch) || []).some((fault) => fault.text.toLowerCase().includes(wanted));
  }

  // The partitions after the batch at hand, those in danger first, and how many each broker leads.
  inDanger(named) {
    const found = DANGERS.map(() => []), leads = new Map();
    for (const partition of this.order) {
      const change = this.at[partition];
      if (change < 0 || this.states[change] === GONE) continue;
      const leader = this.shown[this.states[change]][0];
      leads.set(leader, (leads.get(leader) || 0) + 1);
      if (!named || named[partition]) found[this.danger(change)].push(partition);
    }
    return { rows: found.flat(), sizes: found.map((some) => some.length), leads };
  }
}
