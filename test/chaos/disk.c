/*
 * Stands between a process and the files of one folder (LD_PRELOAD): it writes down, in their
 * order, every write, truncation, sync, creation and removal, and may let some of them fail.
 * test/chaos/disk.ts reads that log and computes the files after a power cut.
 *
 *   SVC_DISK_FOLDER   the folder, absolute; files ending in -shm or .lock are left alone
 *   SVC_DISK_LOG      where the log goes, outside of the folder
 *   SVC_DISK_FAULT    sync-eio, base-sync-eio (of files ending in .db alone), write-eio or
 *                     write-enospc; absent: nothing fails
 *   SVC_DISK_PERMILLE how many of a thousand such calls fail
 *   SVC_DISK_SEED     chooses which
 *   SVC_DISK_WHILE    a file: calls fail only while it is there; absent: always
 *
 * A record is a head (kind, file, offset, length of what follows) and its bytes. Kinds: N a name
 * is opened (offset 1: there was such a file), W a write, T a truncation to offset, S a sync that
 * was done, D the same of the folder, U a name is removed, F a sync that failed, E a write that
 * failed. A change is logged before the call, since it may or may not reach the disk; a sync is
 * logged after the call. One lock keeps the log in the order of the calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES 256
#define FDS 65536
#define FOLDER 1

struct head {
  uint32_t kind;
  uint32_t file;
  uint64_t offset;
  uint64_t length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[4096];
static size_t folder_length;
static int log_fd = -1;
static char *names[FILES];
static uint32_t file_count = FOLDER + 1;
static struct {
  uint32_t file;
  dev_t device;
  ino_t inode;
} open_files[FDS];
static enum { NONE, SYNC_EIO, BASE_SYNC_EIO, WRITE_EIO, WRITE_ENOSPC } fault = NONE;
static uint64_t permille, state;
static const char *only_while;

static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static int (*real_ftruncate)(int, off64_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_unlink)(const char *);

__attribute__((constructor)) static void begin(void) {
  real_open = dlsym(RTLD_NEXT, "open64");
  real_openat = dlsym(RTLD_NEXT, "openat64");
  real_write = dlsym(RTLD_NEXT, "write");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_writev = dlsym(RTLD_NEXT, "writev");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  const char *where = getenv("SVC_DISK_FOLDER"), *log = getenv("SVC_DISK_LOG");
  if (where == NULL || log == NULL || strlen(where) >= sizeof folder) return;
  const char *what = getenv("SVC_DISK_FAULT"), *often = getenv("SVC_DISK_PERMILLE");
  const char *seed = getenv("SVC_DISK_SEED");
  if (what != NULL && strcmp(what, "sync-eio") == 0) fault = SYNC_EIO;
  if (what != NULL && strcmp(what, "base-sync-eio") == 0) fault = BASE_SYNC_EIO;
  if (what != NULL && strcmp(what, "write-eio") == 0) fault = WRITE_EIO;
  if (what != NULL && strcmp(what, "write-enospc") == 0) fault = WRITE_ENOSPC;
  only_while = getenv("SVC_DISK_WHILE");
  permille = often == NULL ? 0 : strtoull(often, NULL, 10);
  state = (seed == NULL ? 0 : strtoull(seed, NULL, 10)) * 2685821657736338717ULL + 88172645463325252ULL;
  strcpy(folder, where);
  folder_length = strlen(folder);
  log_fd = real_open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int fails(void) {
  if (only_while != NULL && access(only_while, F_OK) != 0) return 0;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state >> 11) % 1000 < permille;
}

static void record(char kind, uint32_t file, uint64_t offset, const void *bytes, size_t length) {
  struct head head = {(uint32_t)kind, file, offset, length};
  struct iovec parts[2] = {{&head, sizeof head}, {(void *)bytes, length}};
  if (real_writev(log_fd, parts, 2) != (ssize_t)(sizeof head + length)) abort();
}

static int ends_with(const char *text, const char *end) {
  size_t a = strlen(text), b = strlen(end);
  return a >= b && strcmp(text + a - b, end) == 0;
}

/* The name below the folder; "" is the folder itself; NULL: not ours. */
static const char *name_of(const char *path) {
  if (log_fd < 0 || path == NULL || strncmp(path, folder, folder_length) != 0) return NULL;
  const char *rest = path + folder_length;
  if (*rest == '\0') return rest;
  if (*rest != '/' || strstr(rest, ".lock") != NULL || ends_with(rest, "-shm")) return NULL;
  return rest + 1;
}

static uint32_t number_of(const char *name, int existed) {
  for (uint32_t i = FOLDER + 1; i < file_count; i++)
    if (names[i] != NULL && strcmp(names[i], name) == 0) return i;
  if (file_count == FILES) abort();
  names[file_count] = strdup(name);
  record('N', file_count, (uint64_t)existed, name, strlen(name));
  return file_count++;
}

/* The descriptor may belong to another file meanwhile: the inode shows it. */
static uint32_t file_of(int fd) {
  if (log_fd < 0 || fd < 0 || fd >= FDS || open_files[fd].file == 0) return 0;
  struct stat facts;
  if (fstat(fd, &facts) != 0 || facts.st_dev != open_files[fd].device ||
      facts.st_ino != open_files[fd].inode) {
    open_files[fd].file = 0;
    return 0;
  }
  return open_files[fd].file;
}

static int opened(const char *path, int flags, mode_t mode) {
  const char *name = name_of(path);
  if (name == NULL) return real_open(path, flags, mode);
  pthread_mutex_lock(&lock);
  int existed = access(path, F_OK) == 0;
  int fd = real_open(path, flags, mode);
  int error = errno;
  struct stat facts;
  if (fd >= 0 && fd < FDS && fstat(fd, &facts) == 0) {
    open_files[fd].file = *name == '\0' ? FOLDER : number_of(name, existed);
    open_files[fd].device = facts.st_dev;
    open_files[fd].inode = facts.st_ino;
    if (flags & O_TRUNC) record('T', open_files[fd].file, 0, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return fd;
}

#define MODE(flags, last)                                    \
  mode_t mode = 0;                                           \
  if ((flags) & (O_CREAT | O_TMPFILE)) {                     \
    va_list more;                                            \
    va_start(more, last);                                    \
    mode = va_arg(more, mode_t);                             \
    va_end(more);                                            \
  }

int open(const char *path, int flags, ...) {
  MODE(flags, flags)
  return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  MODE(flags, flags)
  return opened(path, flags, mode);
}

int openat(int at, const char *path, int flags, ...) {
  MODE(flags, flags)
  return *path == '/' ? opened(path, flags, mode) : real_openat(at, path, flags, mode);
}

int openat64(int at, const char *path, int flags, ...) {
  MODE(flags, flags)
  return *path == '/' ? opened(path, flags, mode) : real_openat(at, path, flags, mode);
}

/* A failing write does half of its work, as on a full disk. */
static ssize_t wrote(int fd, const void *bytes, size_t length, off64_t offset) {
  uint32_t file = open_files[fd].file;
  if ((fault == WRITE_EIO || fault == WRITE_ENOSPC) && fails()) {
    record('W', file, (uint64_t)offset, bytes, length / 2);
    real_pwrite(fd, bytes, length / 2, offset);
    record('E', file, (uint64_t)offset, NULL, 0);
    errno = fault == WRITE_EIO ? EIO : ENOSPC;
    return -1;
  }
  record('W', file, (uint64_t)offset, bytes, length);
  return real_pwrite(fd, bytes, length, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
  pthread_mutex_lock(&lock);
  ssize_t done = file_of(fd) != 0 ? wrote(fd, bytes, length, offset) : -2;
  pthread_mutex_unlock(&lock);
  return done == -2 ? real_pwrite(fd, bytes, length, offset) : done;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  return pwrite64(fd, bytes, length, offset);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  if (log_fd < 0 || fd < 0 || fd >= FDS || open_files[fd].file == 0)
    return real_write(fd, bytes, length);
  pthread_mutex_lock(&lock);
  ssize_t done = -2;
  if (file_of(fd) != 0) {
    off64_t offset = lseek64(fd, 0, SEEK_CUR);
    done = wrote(fd, bytes, length, offset);
    if (done > 0) lseek64(fd, offset + done, SEEK_SET);
  }
  pthread_mutex_unlock(&lock);
  return done == -2 ? real_write(fd, bytes, length) : done;
}

int ftruncate64(int fd, off64_t size) {
  pthread_mutex_lock(&lock);
  uint32_t file = file_of(fd);
  if (file != 0) record('T', file, (uint64_t)size, NULL, 0);
  int done = real_ftruncate(fd, size);
  pthread_mutex_unlock(&lock);
  return done;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

/* The log stands for the disk, so a sync does not wait for the real one. */
static int synced(int fd, int (*real)(int)) {
  pthread_mutex_lock(&lock);
  uint32_t file = file_of(fd);
  if (file == 0) {
    pthread_mutex_unlock(&lock);
    return real(fd);
  }
  int may = file != FOLDER && names[file] != NULL;
  int asked = fault == SYNC_EIO || (fault == BASE_SYNC_EIO && may && ends_with(names[file], ".db"));
  int failed = may && asked && fails();
  record(failed ? 'F' : file == FOLDER ? 'D' : 'S', file, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  if (failed) errno = EIO;
  return failed ? -1 : 0;
}

int fsync(int fd) { return synced(fd, real_fsync); }

int fdatasync(int fd) { return synced(fd, real_fdatasync); }

int unlink(const char *path) {
  const char *name = name_of(path);
  if (name == NULL || *name == '\0') return real_unlink(path);
  pthread_mutex_lock(&lock);
  record('U', 0, 0, name, strlen(name));
  int done = real_unlink(path);
  int error = errno;
  for (uint32_t i = FOLDER + 1; done == 0 && i < file_count; i++) {
    if (names[i] == NULL || strcmp(names[i], name) != 0) continue;
    free(names[i]);
    names[i] = NULL;
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return done;
}
