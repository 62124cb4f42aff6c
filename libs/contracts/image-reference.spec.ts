import { describe, expect, it } from '@jest/globals';
import { imageText, parseImageReference } from './image-reference.js';

const DIGEST = `sha256:${'0a'.repeat(32)}`;

describe('the name of a container image', () => {
  it.each([
    ['busybox:1.36', 'docker.io/library/busybox:1.36'],
    ['biocontainers/samtools:v1.9', 'docker.io/biocontainers/samtools:v1.9'],
    ['quay.io/a/b/c:x', 'quay.io/a/b/c:x'],
    ['localhost/tiny:1', 'localhost/tiny:1'],
    ['localhost:5000/tiny:1', 'localhost:5000/tiny:1'],
    ['[::1]:5000/tiny:1', '[::1]:5000/tiny:1'],
    [`ghcr.io/lab/model@${DIGEST}`, `ghcr.io/lab/model@${DIGEST}`],
    [`a__b--c.d@${DIGEST}`, `docker.io/library/a__b--c.d@${DIGEST}`],
  ])('%s is %s everywhere', (text, whole) => {
    const parsed = parseImageReference(text);
    expect(parsed.ok && imageText(parsed.value)).toBe(whole);
    expect(parseImageReference(whole)).toEqual(parsed);
  });

  it.each([
    ['busybox', /neither a tag nor a digest/],
    ['localhost:5000/busybox', /neither a tag nor a digest/],
    [`busybox:1@${DIGEST}`, /both a tag and a digest/],
    ['busybox@sha256:abc', /64 lower-case/],
    [`a@${DIGEST}@${DIGEST}`, /more than one @/],
    ['', /neither/],
    [':1', /malformed part/],
    ['--privileged', /neither/],
    ['--privileged:1', /malformed part "--privileged"/],
    ['-v=/:/host:1', /malformed/],
    ['Upper:1', /malformed part "Upper"/],
    ['a//b:1', /malformed part ""/],
    ['a/../b:1', /malformed part ".."/],
    ['a b:1', /malformed/],
    ['a:1\n--privileged', /malformed tag/],
    ['a:-x', /malformed tag/],
    [`${'a'.repeat(300)}:1`, /over 255/],
  ])('%j is none', (text, why) => {
    const parsed = parseImageReference(text);
    expect(parsed).toMatchObject({ ok: false });
    expect(!parsed.ok && parsed.message).toMatch(why);
  });
});
