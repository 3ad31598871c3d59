//! Control characters, huge histories and impostors behind the sockets.
