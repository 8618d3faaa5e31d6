import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOfPage } from './page-text.ts';

test('of a page its words are left, a line for each block', () => {
  const table: readonly (readonly [page: string, text: string])[] = [
    ['', ''],
    ['plain', 'plain'],
    ['<p>one</p>\n\n  <p>two\n words</p>', 'one\ntwo words'],
    ['<!doctype html><html><head><title>T</title></head><body>B', 'T\nB'],
    ['<ul><li>a<li>b</ul>c', 'a\nb\nc'],
    ['<h1>a <b>b</b><i>c</i></h1>d', 'a bc\nd'],
    ['a<br>b<br/>c<BR />d', 'a\nb\nc\nd'],
    ['<table><tr><td>a<td>b<tr><th>c</th><td>d</table>', 'a b\nc d'],
    ['<pre>if x:\n    y\n\n\n\n    z</pre>after', 'if x:\n    y\n\n    z\nafter'],
    ['a<script>if (a<b) x("</div>")</script>b', 'ab'],
    ['a<SCRIPT type="x>y">b</ScRiPt >c', 'ac'],
    ['a<style>p > b {}</style>b<template><p>c</template>d', 'abd'],
    ['a<script>never closed', 'a'],
    ['a<noscript>without scripts</noscript>', 'awithout scripts'],
    ['a<!-- b --><!-- <p>c> -->d<!-- never closed', 'ad'],
    ['a<img alt="x > y" src=\'<p>\'>b', 'ab'],
    ["a<p don't>b", 'a\nb'],
    ['a<p title="never closed', 'a'],
    ['1 < 2 and a<', '1 < 2 and a<'],
    ['a<3b<>c</>d', 'a<3b<>c</>d'],
    ['a<?php echo 1 ?>b<![CDATA[c]]>d', 'abd'],
    [
      '&lt;p&gt; &amp;amp; &#65;&#x42;&#X43; &nbsp;&auml;&Auml; &unknown; &amp',
      '<p> &amp; ABC äÄ &unknown; &amp',
    ],
    ['&#0;&#xD800;&#1114112;&#x110000;', '\uFFFD\uFFFD\uFFFD\uFFFD'],
    ['İ<P>Straße</P>ſ', 'İ\nStraße\nſ'],
  ];
  for (const [page, text] of table) assert.equal(textOfPage(page), text, page);
});

test('no page takes long to read, whatever it holds', () => {
  const n = 1_000_000;
  const pages = {
    opens: '<'.repeat(n),
    tags: '<a'.repeat(n / 2),
    pres: '<pre>'.repeat(n / 5),
    comments: '<!--'.repeat(n / 4),
    bangs: '<!'.repeat(n / 2),
    quotes: '<a b="'.repeat(n / 6),
    scripts: '<script>'.repeat(n / 8),
    closes: '</script'.repeat(n / 8),
    spaces: `<pre>${' '.repeat(n)}x`,
    inlineSpaces: ' \n'.repeat(n / 2),
    entities: '&#'.repeat(n / 2),
    names: `&${'a'.repeat(n)}`,
    lines: '<br>'.repeat(n / 4),
    mixed: '<p>< &amp;</p><b>'.repeat(n / 17),
  };
  for (const [name, page] of Object.entries(pages)) {
    const startedAt = process.cpuUsage();
    textOfPage(page);
    const { user, system } = process.cpuUsage(startedAt);
    const ms = (user + system) / 1_000;
    // Some 50 ms of work; a step that is not linear takes minutes. Others' work does not count.
    assert.ok(ms < 5_000, `${name}: ${Math.round(ms)} ms`);
  }
});
