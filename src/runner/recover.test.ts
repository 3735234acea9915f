import { describe, expect, it } from 'vitest'
import type { RunRow } from '../journal/store.ts'
import { encodeOwner, thisProcess } from '../run/owner.ts'
import { waitsSince } from './recover.ts'

const NOW = 100_000
const LEASE_MS = 30_000
const ALIVE = encodeOwner(thisProcess())
const DEAD = encodeOwner({ ...thisProcess(), started: '1' })
const ELSEWHERE = encodeOwner({ id: 'x', host: 'other', pid: 1 })

const row = (of: Partial<RunRow>): RunRow => ({
  runId: 'r', agent: 'a', status: 'running', threadId: null, createdAt: 1_000, updatedAt: 2_000, resumeAt: null, token: 1, owner: null, leaseUntil: 0, lastSeq: 1, inboxSeq: 0, ...of,
})

describe('a run that', () => {
  it.each<[string, Partial<RunRow>, number | undefined]>([
    ['is driven by a living process', { owner: ALIVE, leaseUntil: NOW + 1 }, undefined],
    ['is driven by another machine', { owner: ELSEWHERE, leaseUntil: NOW + 1 }, undefined],
    ['was driven by another machine whose lease is over', { owner: ELSEWHERE, leaseUntil: NOW }, 2_000],
    ['was driven by a process that is dead', { owner: DEAD, leaseUntil: NOW + 1 }, 2_000],
    ['was given back', { owner: null }, 2_000],
    ['was just created', { token: 0, createdAt: NOW - LEASE_MS + 1 }, undefined],
    ['was created long ago and never taken', { token: 0, createdAt: NOW - LEASE_MS }, NOW - LEASE_MS],
    ['waits for somebody', { status: 'suspended' }, undefined],
    ['waits for a time that has not come', { status: 'suspended', resumeAt: NOW + 1 }, undefined],
    ['is due', { status: 'suspended', resumeAt: NOW }, NOW],
    ['failed', { status: 'failed' }, undefined],
    ['is stalled', { status: 'stalled' }, undefined],
    ['completed', { status: 'completed' }, undefined],
    ['was cancelled', { status: 'cancelled' }, undefined],
  ])('%s', (_what, of, since) => {
    expect(waitsSince(row(of), NOW, LEASE_MS)).toBe(since)
  })
})
