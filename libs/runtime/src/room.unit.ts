import { describe, expect, test } from 'vitest';
import { Room } from './room.js';

describe('room', () => {
  test('is full at the bound, and has room again at half of it', () => {
    const room = new Room(4, 1_000);
    for (let n = 0; n < 3; n++) room.take(1);
    expect(room.full).toBe(false);
    room.take(1);
    expect(room.full).toBe(true);
    expect(room.leave(1)).toBe(false);
    expect(room.full).toBe(true);
    expect(room.leave(1)).toBe(true);
    expect(room.full).toBe(false);
    expect(room.leave(1)).toBe(false);
  });

  test('is full by bytes too, and one record that is larger than the bound is taken and given back', () => {
    const room = new Room(100, 1_000);
    room.take(5_000);
    expect(room.full).toBe(true);
    expect(room.leave(5_000)).toBe(true);
    room.take(600);
    room.take(600);
    expect(room.full).toBe(true);
    expect(room.leave(600)).toBe(false);
    expect(room.leave(600)).toBe(true);
  });

  test('for one record at a time has room again when that is gone', () => {
    const room = new Room(1, 1_000);
    room.take(1);
    expect(room.full).toBe(true);
    expect(room.leave(1)).toBe(true);
  });
});
