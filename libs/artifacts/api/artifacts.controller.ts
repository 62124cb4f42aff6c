import type { Readable } from 'node:stream';
import { Controller, Get, Head, Headers, Param, Put, Query, Req, Res } from '@nestjs/common';
import { ApiConsumes, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ProblemException } from '#platform/http';
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
  @ApiOperation({ summary: 'The bytes; `Range: bytes=N-` continues a download' })
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
    const start = startOf(range);
    if (start === undefined || start >= size) {
      await reply.header('content-length', String(size)).send(this.artifacts.read(sha256));
      return;
    }
    void reply.status(206).header('content-range', `bytes ${String(start)}-${String(size - 1)}/${String(size)}`);
    await reply.header('content-length', String(size - start)).send(this.artifacts.read(sha256, { start }));
  }

  @Put(':sha256')
  @ApiConsumes('application/octet-stream')
  @ApiOperation({ summary: 'Store bytes under their digest; `offset` continues an interrupted upload' })
  async put(
    @Param('sha256') sha256: string,
    @Req() request: FastifyRequest,
    @Query('offset') offset?: string,
  ): Promise<{ sha256: string; size: number }> {
    if (offset !== undefined && !/^\d{1,15}$/.test(offset)) {
      throw new ProblemException('VALIDATION_FAILED', 'offset must be a number of bytes');
    }
    try {
      return { sha256, size: await this.artifacts.put(digest(sha256), bodyOf(request), Number(offset ?? 0)) };
    } catch (error) {
      if (error instanceof DigestMismatch) throw new ProblemException('ARTIFACT_DIGEST_MISMATCH', error.message);
      if (error instanceof UploadGap)
        throw new ProblemException('UPLOAD_OFFSET_GAP', error.message, { expected: error.expected });
      throw error;
    }
  }
}

const digest = (sha256: string): string => {
  if (/^[0-9a-f]{64}$/.test(sha256)) return sha256;
  throw new ProblemException('ARTIFACT_NOT_FOUND', 'an artifact is named by 64 lower-case hexadecimal digits');
};

const startOf = (range: string | undefined): number | undefined => {
  const start = /^bytes=(\d{1,15})-$/.exec(range ?? '')?.[1];
  return start === undefined ? undefined : Number(start);
};

/** An empty file has no body to parse, so the request itself is read. */
const bodyOf = (request: FastifyRequest): Readable => (request.body as Readable | undefined) ?? request.raw;
