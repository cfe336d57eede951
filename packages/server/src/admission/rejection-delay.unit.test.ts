import { expect, test } from 'vitest';
import { RejectionDelay } from './rejection-delay.ts';

/** A delay whose clock and pauses are those of the test. */
function delays(factor = 1, random = () => 1) {
  const pauses: number[] = [];
  let now = 0;
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const pause = (time: number) => {
    pauses.push(time);
    return ended;
  };
  const delay = new RejectionDelay(factor, { now: () => now }, pause, random);
  const reject = (address: string, times: number) => {
    for (let time = 0; time < times; time++) void delay.before(address);
    return pauses.splice(0);
  };
  return {
    delay,
    reject,
    end,
    setTime(time: number) {
      now = time;
    },
  };
}

test('the first rejections of an address in a minute are sent at once, and further ones later and later', () => {
  const { reject, setTime } = delays();
  setTime(1);
  expect(reject('192.0.2.1', 20)).toEqual([]);
  expect(reject('192.0.2.1', 3)).toEqual([10, 20, 30]);
  expect(reject('192.0.2.1', 100).at(-1)).toBe(1_000);
  expect(reject('192.0.2.2', 20)).toEqual([]);
  setTime(60_002);
  expect(reject('192.0.2.1', 20)).toEqual([]);
});

test('responses that are delayed at the same time are sent at different times', () => {
  let calls = 0;
  const { reject } = delays(1, () => {
    calls += 1;
    return (calls % 11) / 10;
  });
  reject('192.0.2.1', 200);
  const pauses = reject('192.0.2.1', 11).toSorted((left, right) => left - right);
  expect(pauses).toEqual([500, 550, 600, 650, 700, 750, 800, 850, 900, 950, 1_000]);
});

test('the networks of IPv6 subscribers are counted', () => {
  const { reject } = delays();
  for (let host = 1; host <= 20; host++) expect(reject(`2001:db8:1:2::${host}`, 1)).toEqual([]);
  expect(reject('2001:db8:1:2::ffff', 1)).toEqual([10]);
});

test('a limited number of rejections is delayed at the same time', async () => {
  const { delay, reject, end } = delays();
  expect(reject('192.0.2.1', 1_000)).toHaveLength(400);
  await delay.before('192.0.2.1');
  end();
  await new Promise((resolve) => setImmediate(resolve));
  expect(reject('192.0.2.1', 1)).toEqual([1_000]);
});

test('without rate limits, no rejection is delayed', () => {
  expect(delays(0).reject('192.0.2.1', 100)).toEqual([]);
});
