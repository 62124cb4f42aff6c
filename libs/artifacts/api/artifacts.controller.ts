import type { Readable } from 'node:stream';
import { Controller, Get, Head, Headers, Param, Put, Query, Req, Res } from '@nestjs/common';
import { ApiConsumes, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CurrentCaller, ProblemException, Roles } from '#platform/http';
import type { Caller } from '#platform/http';
import { rangeOf } from './byte-range.js';
import { DigestMismatch, LocalArtifactStore, UploadGap } from '../artifact-store.js';

/** Bytes by their digest: whoever knows the digest of an artifact has seen the job it belongs to, or its bytes. */
@ApiTags('artifacts')
@Controller('v1/artifacts')
export class ArtifactsController {
  constructor(private readonly artifacts: LocalArtifactStore) {}

  @Head(':sha256')
  @ApiOperation({ summary: 'Size of an artifact; 404 with `Escalon-Upload-Offset` when an upload was interrupted' })
  async head(@Param('sha256') sha256: string, @Res() reply: FastifyReply): Promise<void> {
    const size = await this.artifacts.size(digest(sha256));
    if (size === undefined) {
      const offset = await this.artifacts.offset(sha256);
      await reply.status(404).header('escalon-upload-offset', String(offset)).send();
      return;
    }
    await reply.header('content-length', String(size)).header('accept-ranges', 'bytes').send();
  }

  @Get(':sha256')
  @ApiOperation({ summary: 'The bytes, or one range of them: `Range: bytes=N-` continues a download' })
  async get(
    @Param('sha256') sha256: string,
    @Res() reply: FastifyReply,
    @Headers('range') range?: string,
  ): Promise<void> {
    const size = await this.artifacts.size(digest(sha256));
    if (size === undefined) throw new ProblemException('ARTIFACT_NOT_FOUND', `there is no artifact ${sha256}`);
    void reply
      .header('content-type', 'application/octet-stream')
      .header('etag', `"${sha256}"`)
      .header('accept-ranges', 'bytes');
    const part = rangeOf(range, size);
    if (part === 'outside') {
      void reply.header('content-range', `bytes */${String(size)}`);
      throw new ProblemException('RANGE_NOT_SATISFIABLE', `the artifact has ${String(size)} bytes`);
    }
    if (part === 'whole') {
      await reply.header('content-length', String(size)).send(this.artifacts.read(sha256));
      return;
    }
    const { start, end } = part;
    void reply.status(206).header('content-range', `bytes ${String(start)}-${String(end)}/${String(size)}`);
    await reply.header('content-length', String(end - start + 1)).send(this.artifacts.read(sha256, part));
  }

  @Put(':sha256')
  @Roles('researcher', 'operator', 'node')
  @ApiConsumes('application/octet-stream')
  @ApiOperation({ summary: 'Store bytes under their digest; `offset` continues an interrupted upload' })
  async put(
    @Param('sha256') sha256: string,
    @Req() request: FastifyRequest,
    @CurrentCaller() caller: Caller,
    @Query('offset') offset?: string,
  ): Promise<{ sha256: string; size: number }> {
    if (caller.role === 'node' && caller.nodeId === undefined) {
      throw new ProblemException('FORBIDDEN', 'an enrolment token cannot store artifacts');
    }
    if (!DIGEST.test(sha256)) throw new ProblemException('VALIDATION_FAILED', NAMED_BY);
    if (offset !== undefined && !/^\d{1,15}$/.test(offset)) {
      throw new ProblemException('VALIDATION_FAILED', 'offset must be a number of bytes');
    }
    try {
      return { sha256, size: await this.artifacts.put(sha256, bodyOf(request), Number(offset ?? 0)) };
    } catch (error) {
      if (error instanceof DigestMismatch) throw new ProblemException('ARTIFACT_DIGEST_MISMATCH', error.message);
      if (error instanceof UploadGap)
        throw new ProblemException('UPLOAD_OFFSET_GAP', error.message, { expected: error.expected });
      throw error;
    }
  }
}

const DIGEST = /^[0-9a-f]{64}$/;
const NAMED_BY = 'an artifact is named by 64 lower-case hexadecimal digits';

const digest = (sha256: string): string => {
  if (DIGEST.test(sha256)) return sha256;
  throw new ProblemException('ARTIFACT_NOT_FOUND', NAMED_BY);
};

/** An empty file has no body to parse, so the request itself is read. */
const bodyOf = (request: FastifyRequest): Readable => (request.body as Readable | undefined) ?? request.raw;
